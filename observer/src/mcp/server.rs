//! `POST /mcp`: what the SDK asks of a server, answered by the routes.

use crate::actions::record;
use crate::http::answer::{HttpAnswer, JSON, TEXT, answer as with_type};
use crate::http::guard::may_act;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::ObserverRoute;
use crate::limits;
use crate::mcp::arguments::{path_number, target};
use crate::mcp::explain::explained;
use crate::mcp::reads::{Reads, ToolAnswer};
use crate::mcp::tools::{self, ObserverTool, TOOLS, ToolRoute};
use crate::routes::{RouteRequest, respond};
use crate::shared::Shared;
use crate::text::cut;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult, ConstString,
    ContentBlock, CustomRequest, CustomResult, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The longest that a call may take. Every route answers earlier.
const LONGEST: Duration = Duration::from_secs(10);

const INSTRUCTIONS: &str = "A view into one running Krarup node (actors in the manner of Erlang/OTP). \
Begin with `findings`, then `explain_restart` for crashes, `waits` for what hangs, \
`list_processes` with sort=cpu or sort=growth for load. Pids are <0.42.0>; arguments named id are \
the number 42. Lists are short by default: ask for more with limit.";

/// Answers a message of the protocol, which the guard has let in.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    request: RouteRequest,
) -> Result<HttpAnswer, Refusal> {
    let RouteRequest { head, body, peer, stop, .. } = request;
    let message = Bytes::from(body?);
    let server =
        McpServer { shared: Arc::clone(shared), headers: head.headers.clone(), peer, stop };
    // The guard has checked the host and the origin, more strictly than the SDK does.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_sse_retry(None)
        .with_max_request_body_bytes(limits::BODY)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let request = Request::from_parts(head, Full::new(message.clone()));
    let answered = timeout(LONGEST, async {
        let (head, body) = service.handle(request).await.into_parts();
        (head, Limited::new(body, limits::ANSWER).collect().await)
    });
    let late = || Refusal::new(Code::Timeout, "the tool did not answer in time");
    let (head, body) = answered.await.map_err(|_| late())?;
    // The guard has checked the type of the body: the SDK says this of a body that it cannot read.
    if head.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        let error = unreadable_message(&message).to_string();
        return Ok(with_type(StatusCode::BAD_REQUEST, JSON, error));
    }
    let large = |_| {
        let message = format!("the answer has more than {} bytes", limits::ANSWER);
        Refusal::new(Code::TooLarge, message)
    };
    let body = body.map_err(large)?.to_bytes();
    let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_json = kind.is_some_and(|kind| kind.starts_with(JSON.as_bytes()));
    Ok(with_type(head.status, if is_json { JSON } else { TEXT }, body))
}

/// The tools, for the client that sent a request.
#[derive(Clone)]
struct McpServer {
    shared: Arc<Shared>,
    headers: HeaderMap,
    peer: IpAddr,
    stop: watch::Receiver<bool>,
}

impl ServerHandler for McpServer {
    /// The SDK takes a request whose parameters it cannot read for one of a method of ours.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method == CallToolRequestMethod::VALUE {
            return Err(unreadable_call(params.as_ref()));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    fn get_info(&self) -> ServerConfig {
        let name = Implementation::new("krarup-observer", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(name)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let may_act = may_act(&self.shared.access, &self.headers).is_ok();
        let tools = TOOLS.iter().filter(|tool| may_act || !tool.acts());
        Ok(ListToolsResult::with_all_items(tools.map(told).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ObserverTool::find(&call.name) else {
            let message = format!("there is no tool {:?}", call.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let given = call.arguments.unwrap_or_default();
        let answered = match tool.does {
            ToolRoute::Reads(path) => match target(tool, path, &given) {
                Ok(target) => self.get(&target).await,
                Err(refusal) => Err(refusal.body()),
            },
            ToolRoute::Explains => explained(self, &given).await,
            ToolRoute::Acts(action) => self.act(action, given).await,
        };
        Ok(CallToolResponse::Complete(match answered {
            Ok(body) => {
                let mut result =
                    CallToolResult::success(vec![ContentBlock::text(summary(tool, &body))]);
                result.structured_content = Some(body);
                result
            }
            Err(error) => {
                let error = String::from_utf8_lossy(&error).into_owned();
                CallToolResult::error(vec![ContentBlock::text(error)])
            }
        }))
    }
}

/// The answer to what is no message of JSON-RPC 2.0: without the id of the message, unless there is one.
fn unreadable_message(message: &[u8]) -> Value {
    let (id, code, why) = match serde_json::from_slice::<Value>(message) {
        Err(error) => {
            (Value::Null, ErrorCode::PARSE_ERROR, format!("the message is not JSON: {error}"))
        }
        Ok(message) => {
            let id = message.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
            let why = "the message is no request, notification or answer of JSON-RPC 2.0";
            (id.unwrap_or_default(), ErrorCode::INVALID_REQUEST, why.to_owned())
        }
    };
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": why } })
}

/// Why the SDK could not read a call of a tool.
fn unreadable_call(parameters: Option<&Value>) -> ErrorData {
    let field = |name: &str| parameters.and_then(|all| all.get(name));
    let message = match (field("name"), field("arguments")) {
        (None, _) => "there is no name of a tool".to_owned(),
        (Some(name), _) if !name.is_string() => cut(&format!("name={name} is not a text")),
        (_, Some(arguments)) if !arguments.is_object() && !arguments.is_null() => {
            cut(&format!("arguments={arguments} is not an object"))
        }
        _ => "the parameters are not those of a call of a tool".to_owned(),
    };
    ErrorData::invalid_params(message, None)
}

impl McpServer {
    async fn act(&self, action: &'static str, mut given: Map<String, Value>) -> ToolAnswer {
        let id = path_number("id", &given);
        if let Err(refusal) = may_act(&self.shared.access, &self.headers) {
            let id = id.ok();
            record(&self.shared, self.peer, action, id, Map::new(), Some(refusal.code));
            return Err(refusal.body());
        }
        let id = id.map_err(|refusal| refusal.body())?;
        given.remove("id");
        let body = Value::from(given).to_string().into_bytes();
        self.ask(Method::POST, &format!("/api/v1/processes/{id}/{action}"), body).await
    }
}

impl Reads for McpServer {
    async fn get(&self, target: &str) -> ToolAnswer {
        self.ask(Method::GET, target, Vec::new()).await
    }
}

impl McpServer {
    /// Asks a route, as a request from outside does once the guard has let it in.
    async fn ask(&self, method: Method, target: &str, body: Vec<u8>) -> ToolAnswer {
        let refused = |refusal: Refusal| refusal.body();
        let acts = method == Method::POST;
        let head = Request::builder().method(method).uri(target).body(());
        let head = head.map_err(|error| {
            refused(Refusal::new(Code::BadParameter, format!("the arguments: {error}")))
        })?;
        let (head, ()) = head.into_parts();
        let route = ObserverRoute::find(head.uri.path())
            .ok_or_else(|| refused(Refusal::new(Code::NoRoute, "there is no such route")))?;
        let (peer, stop) = (self.peer, self.stop.clone());
        let request = RouteRequest { route, acts, head, body: Ok(body), peer, stop };
        let answer = respond(&self.shared, request).await.map_err(refused)?;
        let body = answer.into_body().collect().await;
        let Ok(body) = body.map(http_body_util::Collected::to_bytes);
        match serde_json::from_slice(&body) {
            // `/health` says with a 503 that something is down, and what.
            Ok(Value::Object(body)) if !body.contains_key("error") => Ok(Value::Object(body)),
            _ => Err(body.to_vec()),
        }
    }
}

/// A tool as clients are told of it.
fn told(tool: &ObserverTool) -> Tool {
    let reads = !tool.acts();
    let hints = ToolAnnotations::new().read_only(reads).destructive(!reads).open_world(false);
    Tool::new(tool.name, tool.about, Arc::new(tools::input(tool)))
        .with_raw_output_schema(Arc::new(tools::output(tool)))
        .with_annotations(hints)
}

/// The short text beside an answer.
fn summary(tool: &ObserverTool, body: &Value) -> String {
    if let Some(explanation) = body["explanation"].as_str() {
        return explanation.to_owned();
    }
    let fields = body.as_object().into_iter().flatten();
    let count = |(name, value): (&String, &Value)| {
        let list = value.as_array()?;
        Some(format!("{} {}", list.len(), name.replace('_', " ")))
    };
    let counts: Vec<String> = fields.filter_map(count).collect();
    let matched = body["matched"].as_u64().map(|all| format!(" of {all} that match"));
    if counts.is_empty() {
        return tool.name.to_owned();
    }
    format!("{}: {}{}", tool.name, counts.join(", "), matched.unwrap_or_default())
}
