//! The add-ons of kops' own clusters, applied by the built binary to an API server: all of them, once, in an order that works,
//! and what is refused is named while the rest is applied.
//!
//! Every case of `cases.rs` is run against the stand-in, and against a kube-apiserver where one is named.

mod cases;
mod lab;
mod server;
mod stand_in;
mod stores;

use lab::Lab;
use quake_apisim::ApiServer;

/// One test of each case, for each of the servers.
macro_rules! on_each_server {
    ($($case:ident: $cluster:literal,)*) => {
        mod the_stand_in {
            $(#[test]
            fn $case() {
                let model = super::ApiServer::new("v1.35.0");
                if let Some(lab) = super::Lab::with_stand_in($cluster, model) {
                    super::cases::$case(&lab);
                }
            })*
        }

        mod a_kube_apiserver {
            $(#[test]
            fn $case() {
                if let Some(lab) = super::Lab::with_kube_apiserver($cluster) {
                    super::cases::$case(&lab);
                }
            })*
        }
    };
}

on_each_server! {
    minimal_is_planned_applied_and_then_held: "minimal-1.35",
    ha_is_planned_applied_and_then_held: "ha",
    privatecalico_is_planned_applied_and_then_held: "privatecalico",
    definitions_come_before_what_they_define_and_accounts_before_pods: "privatecalico",
    a_newer_manifest_changes_only_what_changed: "minimal-1.35",
    what_is_marked_is_removed_and_nothing_else: "minimal-1.35",
    one_object_that_is_refused_holds_up_nothing_else_and_is_named: "minimal-1.35",
    a_definition_that_never_is_established_is_named_and_the_rest_is_applied: "privatecalico",
    a_field_that_another_holds_is_taken_and_what_is_not_said_is_left: "minimal-1.35",
    a_server_that_throttles_is_asked_again: "ha",
    a_server_that_is_down_is_named_and_served_when_it_is_back: "minimal-1.35",
    a_run_that_is_killed_after_any_write_is_finished_by_the_next: "privatecalico",
}
