//! What every host must keep, as checks over the ports. They run against the simulated host in this
//! crate's tests and against the real one in the command line's, so that the simulation may not lie.
//!
//! A check returns the first promise that was broken, in words.

mod bootstrap;
mod buckets;
mod cluster;
mod cluster_watch;
mod consoles;
mod dns;
mod etcd;
mod files;
mod node_status;
mod other_clusters;
mod provision;
mod signals;
mod volumes;

pub use bootstrap::bootstrap;
pub use buckets::buckets;
pub use cluster::cluster;
pub use consoles::consoles;
pub use dns::{EmptyZone, dns};
pub use etcd::{EtcdGiven, etcd};
pub use files::files;
pub use other_clusters::{cluster_that_forgets, old_cluster, troubled_cluster};
pub use provision::{Provisioned, provision};
pub use signals::{Waiting, node_events, signals};
pub use volumes::{cloud, disks};

use quake_model::facts::{Owner, Placed};
use quake_model::ports::{
    Assets, Condition, Files, Keys, Object, Objects, PortError, SignatureKind,
};
use quake_model::spec::AssetSpec;
use quake_model::step::{Contents, Keep, Place, Visibility, WriteFile};
use std::fmt::Debug;

/// A promise that was broken.
pub type Broken = String;

#[expect(
    clippy::needless_pass_by_value,
    reason = "checks compare values they have just made; borrowing each would only hide the promise"
)]
fn hold<T: PartialEq + Debug>(promise: &str, found: T, wanted: T) -> Result<(), Broken> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{promise}: found {found:?}, wanted {wanted:?}"))
    }
}

fn sound<T>(promise: &str, result: Result<T, PortError>) -> Result<T, Broken> {
    result.map_err(|error| format!("{promise}: {error} {:?}", error.causes))
}

fn file(path: &str, contents: &str, mode: u32) -> WriteFile {
    WriteFile {
        path: path.to_owned(),
        contents: Contents::from(contents),
        mode,
        owner: Owner::default(),
        keep: Keep::Never,
        visibility: Visibility::Plain,
    }
}

/// Keys: one that was made is read again, and no two are the same.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn keys<H: Keys>(host: &H) -> Result<(), Broken> {
    let made = sound("a key is made", host.make_key().await)?;
    let other = sound("another is made", host.make_key().await)?;
    hold("two keys are one", made.public == other.public, false)?;
    let public = sound("its public key is read", host.public_key(&made.key).await)?;
    hold("its public key", &public, &made.public)?;
    let kind = SignatureKind::EcdsaSha256;
    let signed = host.sign(&made.key, kind, b"message").await;
    let signed = sound("it signs", signed)?;
    let verified = host.verify(&made.public, kind, b"message", &signed).await;
    sound("its public key verifies", verified)?;
    let forged = host.verify(&other.public, kind, b"message", &signed).await;
    let forged = forged.map_err(|error| error.condition);
    hold("another key", forged, Err(Condition::Malformed))?;
    let refused = host.sign(&made.key, SignatureKind::RsaSha256, b"message");
    let refused = refused.await.map(|_| ()).map_err(|error| error.condition);
    hold("another kind", refused, Err(Condition::Malformed))
}

/// Assets: nothing is there before its fetch; a fetched file can be placed, and is then the same; a file
/// that was changed afterwards is seen.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn assets<H: Assets + Files>(
    host: &H,
    asset: &AssetSpec,
    forged: &AssetSpec,
) -> Result<(), Broken> {
    hold(
        "an asset is absent at first",
        sound("a look", host.has_asset(asset).await)?,
        false,
    )?;
    let fetched = sound("a fetch", host.fetch_asset(asset, &|_| {}).await)?;
    hold(
        "the fetch says where from",
        asset.urls.contains(&fetched.url),
        true,
    )?;
    hold(
        "a fetched asset is there",
        sound("a look", host.has_asset(asset).await)?,
        true,
    )?;

    let refused = host.fetch_asset(forged, &|_| {}).await.map(|_| ());
    let condition = refused.map_err(|error| error.condition);
    hold(
        "other bytes than pinned are refused",
        condition,
        Err(Condition::DigestMismatch),
    )?;
    hold(
        "nothing of them stays",
        sound("a look", host.has_asset(forged).await)?,
        false,
    )?;

    let path = "/contract/bin/tool".to_owned();
    let place = Place {
        asset: asset.digest.clone(),
        member: None,
        path: path.clone(),
        mode: 0o755,
    };
    hold(
        "nothing is placed at first",
        sound("a look", host.look_placed(&place).await)?,
        Placed::Absent,
    )?;
    sound("a file is placed", host.place(&place).await)?;
    hold(
        "a placed file is the same",
        sound("a look", host.look_placed(&place).await)?,
        Placed::Same,
    )?;
    sound(
        "someone changes it",
        host.write_file(&file(&path, "changed", 0o755)).await,
    )?;
    hold(
        "a changed file is seen",
        sound("a look", host.look_placed(&place).await)?,
        Placed::Different,
    )
}

/// Objects: what is there is read byte for byte, what is not is `Missing`, and names are sorted.
/// The store must hold `x/a` and `x/b/c` below `base`, and nothing else.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn objects<H: Objects>(
    host: &H,
    base: &quake_model::location::Location,
) -> Result<(), Broken> {
    let read = sound(
        "an object is read",
        host.read_object(&base.join("x/a")).await,
    )?;
    hold("its bytes", read.bytes, b"a".to_vec())?;
    let missing = host
        .read_object(&base.join("x/none"))
        .await
        .map_err(|error| error.condition);
    hold(
        "an absent object is missing",
        missing.map(|_| ()),
        Err(Condition::Missing),
    )?;
    let listed = sound("names are listed", host.list_objects(&base.join("x")).await)?;
    hold(
        "names directly below",
        listed,
        vec!["a".to_owned(), "b".to_owned()],
    )?;
    let none = sound(
        "an empty place is listed",
        host.list_objects(&base.join("y")).await,
    )?;
    hold("an empty place has no names", none, Vec::new())
}

/// Objects that are written: each is there at once with its bytes, in directories that need not be made, and takes the place
/// of the one before it; nothing half-written is listed. The store must hold nothing below `written` in `base`.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn written_objects<H: Objects>(
    host: &H,
    base: &quake_model::location::Location,
) -> Result<(), Broken> {
    let folder = base.join("written/deep");
    for bytes in ["first", "second, which is longer", ""] {
        let object = Object {
            location: folder.join("a.json"),
            bytes: bytes.into(),
        };
        sound(
            "an object is written",
            host.write_object(&object, "application/json").await,
        )?;
        let read = sound("and read", host.read_object(&object.location).await)?;
        hold("its bytes", read.bytes, object.bytes)?;
    }
    let listed = sound("names are listed", host.list_objects(&folder).await)?;
    hold("nothing else is there", listed, vec!["a.json".to_owned()])?;
    let above = host.list_objects(&base.join("written")).await;
    let above = sound("its directory is listed", above)?;
    hold("its directory", above, vec!["deep".to_owned()])
}
