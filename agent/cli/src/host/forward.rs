//! Writes the methods of a port that only pass a call on.

/// Sends a call to the simulated region if it stands for the part, else to the host's own.
macro_rules! route {
    ($host:ident, $part:ident, $real:ident . $call:ident ( $($argument:expr),* )) => {
        match $host.simulates(Part::$part) {
            Some(simulated) => simulated.$call($($argument),*).await,
            None => $host.$real.$call($($argument),*).await,
        }
    };
}

/// Writes methods of a port, each from its signature without `&self`.
///
/// `forward! { Cloud => ec2; … }` sends calls to the simulated region if it stands for
/// `Part::Cloud`, else to the field `ec2`. `forward! { files; … }` always sends them to the field.
macro_rules! forward {
    ($part:ident => $real:ident;
     $(async fn $call:ident($($name:ident: $type:ty),*) $(-> $answer:ty)?;)*) => {
        $(async fn $call(&self, $($name: $type),*) $(-> $answer)? {
            crate::host::forward::route!(self, $part, $real.$call($($name),*))
        })*
    };
    ($real:ident;
     $(async fn $call:ident($($name:ident: $type:ty),*) $(-> $answer:ty)?;)*) => {
        $(async fn $call(&self, $($name: $type),*) $(-> $answer)? {
            self.$real.$call($($name),*).await
        })*
    };
}

pub(super) use {forward, route};
