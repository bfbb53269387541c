//! System users, by `groupadd` and `useradd`. Their exit statuses are those of shadow's manual pages.

use super::programs::{DEADLINE, Programs, complaint};
use quake_model::item::User;
use quake_model::ports::{Condition, PortError};
use std::process::Output;

/// groupadd: a group of this name is there.
const GROUP_IS_THERE: i32 = 9;

pub(super) async fn make(programs: &Programs, user: &User) -> Result<(), PortError> {
    let number = user.uid.to_string();
    let group = ["groupadd", "--system", "--gid", &number, &user.name];
    let made = programs.run(&group, DEADLINE).await?;
    // Whether a group that is there is the right one, useradd says.
    if !made.status.success() && made.status.code() != Some(GROUP_IS_THERE) {
        return Err(refusal(&group, &made));
    }
    let words = [
        "useradd",
        "--system",
        "--uid",
        &number,
        "--gid",
        &number,
        "--home-dir",
        &user.home,
        "--no-create-home",
        "--shell",
        &user.shell,
        &user.name,
    ];
    let made = programs.run(&words, DEADLINE).await?;
    if made.status.success() {
        Ok(())
    } else {
        Err(refusal(&words, &made))
    }
}

fn refusal(words: &[&str], made: &Output) -> PortError {
    let said = String::from_utf8_lossy(&made.stderr);
    let condition = match made.status.code() {
        _ if said.contains("cannot lock") => Condition::Conflict,
        // The number is another's; the group of this number is not there, for its name is another number's; the name is
        // there.
        Some(4 | 6 | 9) => Condition::Occupied,
        _ => Condition::Io,
    };
    PortError {
        condition,
        ..complaint(words, made)
    }
}
