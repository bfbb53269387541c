//! What every host must keep, as checks over the ports. They run against the simulated host in this
//! crate's tests and against the real one in the command line's, so that the simulation may not lie.
//!
//! A check returns the first promise that was broken, in words.

mod bootstrap;
mod cluster;
mod cluster_watch;
mod consoles;
mod dns;
mod other_clusters;
mod provision;
mod signals;
mod volumes;

pub use bootstrap::bootstrap;
pub use cluster::cluster;
pub use consoles::consoles;
pub use dns::{EmptyZone, dns};
pub use other_clusters::{cluster_that_forgets, old_cluster, troubled_cluster};
pub use provision::{Provisioned, provision};
pub use signals::{Waiting, node_events, signals};
pub use volumes::{cloud, disks};

use quake_model::facts::{EntryKind, Owner, Placed};
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

/// Files: what is written is there, whole; what is not there is nothing; nothing of another kind is
/// replaced.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn files<H: Files>(host: &H) -> Result<(), Broken> {
    absent_files(host).await?;
    written_files(host).await?;
    stamps_of_files(host).await?;
    links(host).await?;
    removed_files(host).await?;
    kinds_of_files(host).await
}

async fn links<H: Files>(host: &H) -> Result<(), Broken> {
    let read = async |path: &str| sound("a link is read", host.read_link(path).await);
    hold("an absent link", read("/contract/b/link").await?, None)?;
    for target in ["/contract/a", "elsewhere"] {
        let made = host.make_link("/contract/b/link", target).await;
        sound("a link is made, in the place of another", made)?;
        let found = read("/contract/b/link").await?;
        hold("where it points", found.as_deref(), Some(target))?;
    }
    hold("a file is no link", read("/contract/a").await?, None)?;
    let refused = host.make_link("/contract/a", "elsewhere").await;
    let refused = refused.map_err(|error| error.condition);
    hold("a file is not replaced", refused, Err(Condition::Occupied))
}

async fn removed_files<H: Files>(host: &H) -> Result<(), Broken> {
    let path = "/contract/b/gone";
    let remove = async |path: &str, seen: &str| {
        let removed = host.remove_file(path, seen.as_bytes()).await;
        removed.map_err(|error| error.condition)
    };
    hold("an absent file", remove(path, "one").await, Ok(()))?;
    let absent = "/contract/none/gone";
    hold("an absent directory", remove(absent, "one").await, Ok(()))?;
    let written = host.write_file(&file(path, "one", 0o600)).await;
    sound("a file is written", written)?;
    for other in ["two", "", "on", "one and more"] {
        let refused = remove(path, other).await;
        hold("another file", refused, Err(Condition::Conflict))?;
    }
    for other in ["/contract/b", "/contract/b/link"] {
        let refused = remove(other, "elsewhere").await;
        hold("what is no file", refused, Err(Condition::Occupied))?;
    }
    hold("the file that was seen", remove(path, "one").await, Ok(()))?;
    let looked = sound("a look", host.look_file(path, 9).await)?;
    hold("a removed file is nothing", looked, None)
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

async fn absent_files<H: Files>(host: &H) -> Result<(), Broken> {
    let looked = sound(
        "an absent path is no error",
        host.look_file("/contract/a", 99).await,
    )?;
    hold("an absent path is nothing", looked, None)?;
    let listed = sound(
        "an absent directory is no error",
        host.list_directory("/contract").await,
    )?;
    hold("an absent directory is empty", listed, Vec::new())?;
    Ok(())
}

async fn written_files<H: Files>(host: &H) -> Result<(), Broken> {
    sound(
        "a file is written with its parents",
        host.write_file(&file("/contract/b/x", "one", 0o640)).await,
    )?;
    sound(
        "a file is written",
        host.write_file(&file("/contract/a", "first", 0o644)).await,
    )?;
    sound(
        "a file is replaced",
        host.write_file(&file("/contract/a", "second", 0o600)).await,
    )?;
    let looked = sound("a file is seen", host.look_file("/contract/a", 99).await)?;
    let found = looked.ok_or("a written file is there")?;
    hold("its kind", found.kind, EntryKind::File)?;
    hold("its mode", found.mode, 0o600)?;
    hold("its bytes", found.contents, Some(b"second".to_vec()))?;
    let looked = sound(
        "a large file is seen",
        host.look_file("/contract/a", 3).await,
    )?;
    hold(
        "contents past the limit are left out",
        looked.and_then(|found| found.contents),
        None,
    )?;
    Ok(())
}

async fn stamps_of_files<H: Files>(host: &H) -> Result<(), Broken> {
    let paths = ["/contract/a", "/contract/none", "/contract/b"].map(str::to_owned);
    let stamped = async || sound("paths are stamped", host.stamp_files(&paths).await);
    let first = stamped().await?;
    hold("a stamp a path", first.len(), 3)?;
    hold("an absent path has no stamp", first[1], None)?;
    hold("a directory has one", first[2].is_some(), true)?;
    hold("what nobody touched", stamped().await?, first.clone())?;
    sound(
        "permissions are set",
        host.set_permissions(&file("/contract/a", "second", 0o640))
            .await,
    )?;
    let second = stamped().await?;
    hold(
        "another mode is another stamp",
        second[0] == first[0],
        false,
    )?;
    sound(
        "a file is replaced by one as long",
        host.write_file(&file("/contract/a", "minute", 0o640)).await,
    )?;
    let third = stamped().await?;
    hold(
        "other bytes are another stamp",
        third[0] == second[0],
        false,
    )
}

async fn kinds_of_files<H: Files>(host: &H) -> Result<(), Broken> {
    sound(
        "permissions are set",
        host.set_permissions(&file("/contract/a", "second", 0o444))
            .await,
    )?;
    let looked = sound("a file is seen", host.look_file("/contract/a", 99).await)?;
    hold("its new mode", looked.map(|found| found.mode), Some(0o444))?;
    let listed = sound(
        "a directory is listed",
        host.list_directory("/contract").await,
    )?;
    hold(
        "names are sorted",
        listed,
        vec!["a".to_owned(), "b".to_owned()],
    )?;

    let refused = host.write_file(&file("/contract/b", "x", 0o644)).await;
    hold(
        "a directory is not replaced",
        refused.map_err(|error| error.condition),
        Err(Condition::Occupied),
    )?;
    sound(
        "a directory is made",
        host.make_directory("/contract/c/d", 0o750, Owner::default())
            .await,
    )?;
    let looked = sound(
        "a directory is seen",
        host.look_file("/contract/c/d", 0).await,
    )?;
    hold(
        "its kind and mode",
        looked.map(|found| (found.kind, found.mode)),
        Some((EntryKind::Directory, 0o750)),
    )
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
