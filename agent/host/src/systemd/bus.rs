//! The connection to the system bus, made when it is first needed and kept, and calls over it.

use super::refusal::refusal_of;
use quake_model::ports::{Condition, PortError};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::sync::Mutex;
use zbus::wire::{DynamicDeserialize, DynamicType};
use zbus::{Connection, MatchRule, Message, MessageStream, OwnedObjectPath, OwnedVariant};

/// systemd's name on the bus (org.freedesktop.systemd1(5)).
const SYSTEMD: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// How long the bus may take to let us in.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How long an answer may take; systemd answers nothing while it reads all unit files again, which took
/// 0.3 s for 238 files on two cores and can take many times that on a small, busy instance.
const ANSWER_DEADLINE: Duration = Duration::from_secs(90);

/// Signals kept until they are read. Jobs of other units end at the same time as ours.
const QUEUE: usize = 1024;

/// The properties of one interface of a unit.
pub(super) type Properties = HashMap<String, OwnedVariant>;

/// The system bus.
#[derive(Debug, Default)]
pub(super) struct Bus {
    /// Another address than the system's own.
    address: Option<String>,
    kept: Mutex<Option<Connection>>,
}

impl Bus {
    pub(super) fn at(address: &str) -> Self {
        Self {
            address: Some(address.to_owned()),
            kept: Mutex::default(),
        }
    }

    /// Calls a method of systemd's manager.
    pub(super) async fn manage<B, R>(&self, method: &str, body: &B) -> Result<R, PortError>
    where
        B: serde::Serialize + DynamicType + Sync,
        R: for<'d> DynamicDeserialize<'d>,
    {
        self.call(MANAGER_PATH, MANAGER, method, body).await
    }

    /// Reads all properties of systemd's manager.
    pub(super) async fn manager_properties(&self) -> Result<Properties, PortError> {
        self.call(MANAGER_PATH, PROPERTIES, "GetAll", &MANAGER)
            .await
    }

    /// Reads all properties of one interface of an object.
    pub(super) async fn properties(
        &self,
        path: &OwnedObjectPath,
        interface: &str,
    ) -> Result<Properties, PortError> {
        self.call(path.as_str(), PROPERTIES, "GetAll", &interface)
            .await
    }

    /// Reads one property of an object.
    pub(super) async fn property(
        &self,
        path: &OwnedObjectPath,
        interface: &str,
        name: &str,
    ) -> Result<OwnedVariant, PortError> {
        self.call(path.as_str(), PROPERTIES, "Get", &(interface, name))
            .await
    }

    /// Begins to listen for the ends of jobs; to be called before a job is made, for it may end at once.
    pub(super) async fn ended_jobs(&self) -> Result<MessageStream, PortError> {
        let connection = self.connection().await?;
        let listening = async {
            let rule = MatchRule::builder()
                .msg_type(zbus::message::Type::Signal)
                .sender(SYSTEMD)
                .path(MANAGER_PATH)
                .interface(MANAGER)
                .member("JobRemoved")
                .build()?;
            MessageStream::for_match_rule(rule, &connection, NonZeroUsize::new(QUEUE)).await
        };
        match listening.await {
            Ok(stream) => Ok(stream),
            Err(error) => Err(self.refuse("listen for the ends of jobs", &error).await),
        }
    }

    async fn call<B, R>(
        &self,
        path: &str,
        interface: &str,
        method: &str,
        body: &B,
    ) -> Result<R, PortError>
    where
        B: serde::Serialize + DynamicType + Sync,
        R: for<'d> DynamicDeserialize<'d>,
    {
        let connection = self.connection().await?;
        match call_on(&connection, path, interface, method, body).await {
            Ok(message) => message.body().deserialize().map_err(|error| {
                let summary = format!("read systemd's answer to {method}");
                PortError::new(Condition::Malformed, summary).because(&error)
            }),
            Err(error) => Err(self
                .refuse(&format!("ask systemd for {method}"), &error)
                .await),
        }
    }

    /// The connection, made and subscribed to systemd's signals if there is none.
    async fn connection(&self) -> Result<Connection, PortError> {
        let mut kept = self.kept.lock().await;
        // A bus that was restarted has closed it.
        if let Some(connection) = kept.as_ref().filter(|kept| !kept.is_closed()) {
            return Ok(connection.clone());
        }
        let made = tokio::time::timeout(CONNECT_DEADLINE, self.connect()).await;
        let connection = match made {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(refusal_of("reach systemd over the system bus", &error)),
            Err(_) => {
                let seconds = CONNECT_DEADLINE.as_secs();
                let summary = format!("the system bus did not answer within {seconds} s");
                return Err(PortError::new(Condition::Unreachable, summary));
            }
        };
        *kept = Some(connection.clone());
        Ok(connection)
    }

    async fn connect(&self) -> zbus::Result<Connection> {
        let builder = match &self.address {
            Some(address) => zbus::connection::Builder::address(address.as_str()),
            // Honours DBUS_SYSTEM_BUS_ADDRESS.
            None => zbus::connection::Builder::system(),
        };
        let connection = builder.method_timeout(ANSWER_DEADLINE).build().await?;
        // systemd sends signals only while someone is subscribed.
        call_on(&connection, MANAGER_PATH, MANAGER, "Subscribe", &()).await?;
        Ok(connection)
    }

    /// The refusal that `error` is. A connection that broke is let go, so that the next attempt, which is
    /// the engine's to make, makes a new one.
    async fn refuse(&self, what: &str, error: &zbus::Error) -> PortError {
        let refusal = refusal_of(what, error);
        if refusal.condition == Condition::Unreachable {
            *self.kept.lock().await = None;
        }
        refusal
    }
}

async fn call_on<B>(
    connection: &Connection,
    path: &str,
    interface: &str,
    method: &str,
    body: &B,
) -> zbus::Result<Message>
where
    B: serde::Serialize + DynamicType + Sync,
{
    connection
        .call_method(Some(SYSTEMD), path, Some(interface), method, body)
        .await
}
