//! The routes: `/livez`, `/readyz`, `/healthz`, `/v1/*`, `/metrics`, `/version`.

use super::metrics::metrics;
use super::readiness::{Condition, condition_of, readiness};
use super::timeline::{timeline_chrome, timeline_json, timeline_text};
use crate::sinks::Published;
use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use quake_model::phase::Phase;
use std::time::Duration;

/// The longest a reader may wait for news in one request.
const LONGEST_POLL: Duration = Duration::from_secs(60);

/// The routes over one published record.
pub(crate) fn routes(published: Published) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/healthz", get(readyz))
        .route("/readyz/{condition}", get(one_condition))
        .route("/v1/status", get(status))
        .route("/v1/timeline", get(timeline))
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

async fn livez() -> &'static str {
    "ok"
}

async fn readyz(State(published): State<Published>, RawQuery(query): RawQuery) -> Response {
    let parameters = parameters(query.as_deref());
    let excluded: Vec<String> = parameters
        .iter()
        .filter(|(name, _)| *name == "exclude")
        .flat_map(|(_, value)| value.split(',').map(str::to_owned))
        .collect();
    let verbose = parameter(&parameters, "verbose").is_some();
    let answer = readiness(&published.record(), &excluded, verbose);
    let status = if answer.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, answer.text).into_response()
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
    let parameters = parameters(query.as_deref());
    let wait =
        parameter(&parameters, "wait").and_then(|text| text.trim_end_matches('s').parse().ok());
    let since = parameter(&parameters, "since").and_then(|text| text.parse().ok());
    let record = match wait {
        None => published.record(),
        Some(seconds) => {
            let wait = Duration::from_secs(seconds).min(LONGEST_POLL);
            let since = since.unwrap_or_else(|| published.record().seq);
            let newer = tokio::time::timeout(wait, published.newer_than(since)).await;
            newer.unwrap_or_else(|_| published.record())
        }
    };
    let tag = format!("\"{}\"", record.seq);
    if headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|found| found.as_bytes() == tag.as_bytes())
    {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let body = crate::render::status_json(&record);
    ([(header::ETAG, tag)], axum::Json(body)).into_response()
}

async fn timeline(State(published): State<Published>, RawQuery(query): RawQuery) -> Response {
    let record = published.record();
    match parameter(&parameters(query.as_deref()), "format") {
        Some("text") => timeline_text(&record).into_response(),
        Some("chrome") => axum::Json(timeline_chrome(&record)).into_response(),
        _ => axum::Json(timeline_json(&record)).into_response(),
    }
}

async fn events(State(published): State<Published>, RawQuery(query): RawQuery) -> Response {
    let parameters = parameters(query.as_deref());
    let since = parameter(&parameters, "since")
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let mut body = String::new();
    for envelope in published.events_since(since) {
        if let Ok(line) = serde_json::to_string(&envelope) {
            body.push_str(&line);
            body.push('\n');
        }
    }
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

async fn serve_metrics(State(published): State<Published>, headers: HeaderMap) -> Response {
    let accepts = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = if accepts.contains("application/openmetrics-text") {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    ([(header::CONTENT_TYPE, kind)], metrics(&published.record())).into_response()
}

async fn version() -> Response {
    axum::Json(crate::commands::version::version_json()).into_response()
}
