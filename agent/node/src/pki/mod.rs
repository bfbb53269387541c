//! Certificates: what is signed, whether one that is there is kept, and how one is held on the disk. Making keys and signing
//! are the host's.

mod ca;
mod issue;
mod issued;
mod judge;
mod keep;

pub use ca::unsigned_ca;
pub use issue::{Ca, Unsigned, unsigned};
pub use issued::{IssuedCertificate, path};
pub use judge::{Claim, claims, is_still_good, is_trusted, unfit};
pub use keep::{Misfit, dates_of_keypairs, ends_at, misfit, renew_at};

#[cfg(test)]
mod tests;
