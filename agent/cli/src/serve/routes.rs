//! The routes: `/livez`, `/readyz`, `/healthz`, `/v1/*`, `/metrics`, `/version`.

use super::exposition::{Format, exposition};
use super::health::{Health, health};
use super::metrics::metrics;
use super::readiness::{Condition, condition_of, readiness};
use crate::output::without_style;
use crate::render::{timeline_chrome, timeline_json, timeline_text};
use crate::sinks::Published;
use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use quake_diagnose::timeline::{MachineSources, timeline};
use quake_model::boot::BootId;
use quake_model::phase::Phase;
use quake_model::record::Record;
use std::sync::Arc;
use std::time::Duration;

/// The longest a reader may wait for news in one request.
const LONGEST_POLL: Duration = Duration::from_secs(60);

/// The routes over one published record.
pub(crate) fn routes(published: Published) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/livez/ping", get(async || "ok"))
        .route("/readyz", get(readyz))
        .route("/readyz/{condition}", get(one_condition))
        .route("/healthz", get(healthz))
        .route("/healthz/{condition}", get(one_condition))
        .route("/v1/status", get(status))
        .route("/v1/drift", get(drift))
        .route("/v1/timeline", get(serve_timeline))
        .route("/v1/events", get(events))
        .route("/metrics", get(serve_metrics))
        .route("/version", get(version))
        .with_state(published)
}

/// Query parameters, which may repeat (`exclude=a&exclude=b`) and may have no value (`verbose`).
fn parameters(query: Option<&str>) -> Vec<(&str, &str)> {
    let pairs = query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect()
}

fn parameter<'a>(parameters: &[(&'a str, &'a str)], name: &str) -> Option<&'a str> {
    parameters
        .iter()
        .find(|(found, _)| *found == name)
        .map(|(_, value)| *value)
}

/// Whether the agent answers at all, which it does by this. What holds up the boot makes no process unhealthy: killing it
/// would help nobody.
async fn livez(RawQuery(query): RawQuery) -> Response {
    let parameters = parameters(query.as_deref());
    let (excluded, verbose) = asked_for(&parameters);
    answer_of(health("livez", &[("ping", Ok(()))], &excluded, verbose))
}

async fn readyz(State(published): State<Published>, RawQuery(query): RawQuery) -> Response {
    let parameters = parameters(query.as_deref());
    let (excluded, verbose) = asked_for(&parameters);
    let record = published.record();
    answer_of(readiness("readyz", &record, &excluded, verbose))
}

async fn healthz(State(published): State<Published>, RawQuery(query): RawQuery) -> Response {
    let parameters = parameters(query.as_deref());
    let (excluded, verbose) = asked_for(&parameters);
    let record = published.record();
    answer_of(readiness("healthz", &record, &excluded, verbose))
}

/// The checks to leave out, and whether all are to be told. No name has a comma, so one parameter may name several.
fn asked_for(parameters: &[(&str, &str)]) -> (Vec<String>, bool) {
    let excluded = parameters
        .iter()
        .filter(|(name, _)| *name == "exclude")
        .flat_map(|(_, value)| value.split(',').map(str::to_owned))
        .collect();
    (excluded, parameter(parameters, "verbose").is_some())
}

fn answer_of(health: Health) -> Response {
    let status = match health.passed {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, health.text).into_response()
}

async fn one_condition(State(published): State<Published>, Path(name): Path<String>) -> Response {
    let Some(phase) = Phase::from_name(&name) else {
        return (
            StatusCode::NOT_FOUND,
            format!("there is no condition {name:?}\n"),
        )
            .into_response();
    };
    match condition_of(&published.record(), phase) {
        Condition::Met => "ok".into_response(),
        Condition::Pending(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("pending: {why}\n")).into_response()
        }
        Condition::Failing(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("failed: {why}\n")).into_response()
        }
    }
}

async fn status(
    State(published): State<Published>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let record = wait_for_record(&published, &parameters(query.as_deref())).await;
    match tagged(&record, &headers) {
        Ok(tag) => {
            let body = crate::render::status_json(&record);
            ([(header::ETAG, tag)], axum::Json(body)).into_response()
        }
        Err(unchanged) => unchanged.into_response(),
    }
}

/// The record, once there is news: `?wait=30s` waits until it is newer than `since`, which is now where it is absent.
/// A number means another event in another boot: with `boot`, `since` counts only for that one.
async fn wait_for_record(published: &Published, parameters: &[(&str, &str)]) -> Arc<Record> {
    let record = published.record();
    let wait = parameter(parameters, "wait").and_then(|text| crate::args::duration(text).ok());
    let Some(wait) = wait else { return record };
    let since = since(parameters, &record).unwrap_or(record.seq);
    let newer = tokio::time::timeout(wait.min(LONGEST_POLL), published.newer_than(since)).await;
    newer.unwrap_or_else(|_| published.record())
}

/// The number after which events are news to the reader.
fn since(parameters: &[(&str, &str)], record: &Record) -> Option<u64> {
    let since = parameter(parameters, "since").and_then(|text| text.parse().ok());
    let ours = record.boot.as_ref().map_or("", BootId::as_str);
    match parameter(parameters, "boot") {
        Some(boot) if boot != ours => Some(0),
        Some(_) | None => since,
    }
}

/// The tag of a record; the answer itself to a reader who has that record already.
fn tagged(record: &Record, headers: &HeaderMap) -> Result<String, StatusCode> {
    let boot = record.boot.as_ref().map_or("", BootId::as_str);
    let tag = format!("\"{boot}-{}\"", record.seq);
    let known = headers.get(header::IF_NONE_MATCH);
    match known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        true => Err(StatusCode::NOT_MODIFIED),
        false => Ok(tag),
    }
}

/// What is not as the agent left it, all that is known by name.
async fn drift(State(published): State<Published>) -> Response {
    let mut body = crate::render::drift_json(&published.record(), usize::MAX);
    body["schemaVersion"] = "quake-agent/drift/v1".into();
    axum::Json(body).into_response()
}

/// The boot alone: a request is answered from memory. What was before it, `quake-agent timeline` puts beside it.
async fn serve_timeline(State(published): State<Published>, RawQuery(query): RawQuery) -> Response {
    let record = published.record();
    let sources = MachineSources::none("quake-agent timeline on the node asks for it");
    let timeline = timeline(&record, &published.events_since(0), &sources);
    match parameter(&parameters(query.as_deref()), "format") {
        Some("text") => without_style(&timeline_text(&record, &timeline)).into_response(),
        Some("chrome") => axum::Json(timeline_chrome(&timeline)).into_response(),
        _ => axum::Json(timeline_json(&record, &timeline)).into_response(),
    }
}

async fn events(
    State(published): State<Published>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let parameters = parameters(query.as_deref());
    let record = wait_for_record(&published, &parameters).await;
    let tag = match tagged(&record, &headers) {
        Ok(tag) => tag,
        Err(unchanged) => return unchanged.into_response(),
    };
    let since = since(&parameters, &record).unwrap_or_default();
    let mut body = String::new();
    // An event that came after the record would be missed by a reader who asks again with the record's tag.
    let events = published.events_since(since).into_iter();
    for envelope in events.filter(|envelope| envelope.seq <= record.seq) {
        if let Ok(line) = crate::render::event_json(&envelope) {
            body.push_str(&line);
            body.push('\n');
        }
    }
    let kind = "application/x-ndjson".to_owned();
    ([(header::CONTENT_TYPE, kind), (header::ETAG, tag)], body).into_response()
}

async fn serve_metrics(State(published): State<Published>, headers: HeaderMap) -> Response {
    let accepts = headers.get(header::ACCEPT);
    let accepts = accepts.and_then(|value| value.to_str().ok());
    let format = Format::accepted(accepts.unwrap_or_default());
    let text = exposition(&metrics(&published.record()), format);
    ([(header::CONTENT_TYPE, format.media_type())], text).into_response()
}

async fn version() -> Response {
    axum::Json(crate::commands::version::version_json()).into_response()
}
