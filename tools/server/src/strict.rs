//! Requests whose parameters have the wrong form, answered with what is wrong about them.
//!
//! The library takes a request that it knows with parameters that it does not for an unknown one, and answers that there is no such
//! method. A host's model that wrote its arguments as a string learns nothing from that.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam, CompleteRequestParams, CompleteResult,
    CustomNotification, CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::text::{kind, shortened, with_article};

/// A handler that explains what is wrong with malformed requests; all others go to the handler inside.
#[derive(Clone, Debug)]
pub(crate) struct Strict<H>(pub(crate) H);

/// A method that the protocol knows.
struct Method {
    name: &'static str,
    /// Whether a server with these capabilities has it.
    offered: fn(&ServerCapabilities) -> bool,
    parameters: &'static [Parameter],
}

struct Parameter {
    name: &'static str,
    kind: &'static str,
    required: bool,
}

const fn required(name: &'static str, kind: &'static str) -> Parameter {
    Parameter { name, kind, required: true }
}

const fn optional(name: &'static str, kind: &'static str) -> Parameter {
    Parameter { name, kind, required: false }
}

const HAS_TOOLS: fn(&ServerCapabilities) -> bool = |server| server.tools.is_some();
const HAS_RESOURCES: fn(&ServerCapabilities) -> bool = |server| server.resources.is_some();
const HAS_PROMPTS: fn(&ServerCapabilities) -> bool = |server| server.prompts.is_some();

const PAGE: &[Parameter] = &[optional("cursor", "string")];
const TASK: &[Parameter] = &[required("taskId", "string")];

const METHODS: [Method; 11] = [
    Method { name: "tools/call", offered: HAS_TOOLS, parameters: &[required("name", "string"), optional("arguments", "object")] },
    Method { name: "tools/list", offered: HAS_TOOLS, parameters: PAGE },
    Method { name: "resources/read", offered: HAS_RESOURCES, parameters: &[required("uri", "string")] },
    Method { name: "resources/list", offered: HAS_RESOURCES, parameters: PAGE },
    Method { name: "resources/templates/list", offered: HAS_RESOURCES, parameters: PAGE },
    Method { name: "prompts/get", offered: HAS_PROMPTS, parameters: &[required("name", "string"), optional("arguments", "object")] },
    Method { name: "prompts/list", offered: HAS_PROMPTS, parameters: PAGE },
    Method {
        name: "completion/complete",
        offered: |server| server.completions.is_some(),
        parameters: &[required("ref", "object"), required("argument", "object")],
    },
    Method { name: "tasks/get", offered: ServerCapabilities::supports_tasks, parameters: TASK },
    Method { name: "tasks/update", offered: ServerCapabilities::supports_tasks, parameters: TASK },
    Method { name: "tasks/cancel", offered: ServerCapabilities::supports_tasks, parameters: TASK },
];

/// What is wrong with a request that the library could not read; `None` for a method that is not known or not offered.
fn objection(request: &CustomRequest, offered: &ServerCapabilities) -> Option<String> {
    let method = METHODS.iter().find(|method| method.name == request.method && (method.offered)(offered))?;
    let name = method.name;
    let given = match &request.params {
        Some(Value::Object(given)) => Some(given),
        None => None,
        Some(other) => return Some(format!("the parameters of {name} are {} and have to be an object", with_article(kind(other)))),
    };
    let wrong = method.parameters.iter().find_map(|parameter| match given.and_then(|given| given.get(parameter.name)) {
        Some(value) if kind(value) == parameter.kind || (value.is_null() && !parameter.required) => None,
        Some(value) => {
            Some(format!("`{}` of {name} is {} and has to be {}", parameter.name, with_article(kind(value)), with_article(parameter.kind)))
        }
        None if parameter.required => Some(format!("{name} needs `{}`, {}", parameter.name, with_article(parameter.kind))),
        None => None,
    });
    // Something in `_meta`, or in a part of a part.
    Some(wrong.unwrap_or_else(|| format!("the parameters of {name} do not have the form that the protocol gives them")))
}

/// Passes methods on to the handler inside. What is deprecated, or an extension that no server of ours has, is left to the library's refusal.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(async fn $name(&self, $($argument: $type),*) -> $answer {
            self.0.$name($($argument),*).await
        })*
    };
}

impl<H: ServerHandler> ServerHandler for Strict<H> {
    async fn on_custom_request(&self, request: CustomRequest, context: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        match objection(&request, &self.0.get_info().capabilities) {
            Some(objection) => Err(ErrorData::invalid_params(objection, None)),
            None => self.0.on_custom_request(request, context).await,
        }
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        if self.0.get_tool(&request.name).is_some() {
            return self.0.call_tool(request, context).await;
        }
        let listed = self.0.list_tools(None, context.clone()).await?;
        let names: Vec<_> = listed.tools.iter().map(|tool| tool.name.as_ref()).collect();
        if names.contains(&request.name.as_ref()) {
            return self.0.call_tool(request, context).await;
        }
        let reason = format!("there is no tool `{}`; there are {}", shortened(&request.name), names.join(", "));
        Err(ErrorData::invalid_params(reason, None))
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name)
    }

    fn negotiate_initialize(&self, request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData> {
        self.0.negotiate_initialize(request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.0.accepted_subscription_filter(requested)
    }

    pass_on! {
        ping(context: RequestContext<RoleServer>) -> Result<(), ErrorData>;
        initialize(request: InitializeRequestParams, context: RequestContext<RoleServer>) -> Result<InitializeResult, ErrorData>;
        discover(context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData>;
        complete(request: CompleteRequestParams, context: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData>;
        get_prompt(request: GetPromptRequestParams, context: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData>;
        list_prompts(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData>;
        list_resources(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> Result<ListResourcesResult, ErrorData>;
        list_resource_templates(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> Result<ListResourceTemplatesResult, ErrorData>;
        read_resource(request: ReadResourceRequestParams, context: RequestContext<RoleServer>) -> Result<ReadResourceResponse, ErrorData>;
        listen(context: SubscriptionContext) -> Result<(), ErrorData>;
        list_tools(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData>;
        get_task(request: GetTaskParams, context: RequestContext<RoleServer>) -> Result<GetTaskResult, ErrorData>;
        update_task(request: UpdateTaskParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData>;
        cancel_task(request: CancelTaskParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData>;
        on_cancelled(notification: CancelledNotificationParam, context: NotificationContext<RoleServer>) -> ();
        on_progress(notification: ProgressNotificationParam, context: NotificationContext<RoleServer>) -> ();
        on_initialized(context: NotificationContext<RoleServer>) -> ();
        on_roots_list_changed(context: NotificationContext<RoleServer>) -> ();
        on_custom_notification(notification: CustomNotification, context: NotificationContext<RoleServer>) -> ();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(method: &str, params: Option<Value>, expected: Option<&str>) {
        let offered = ServerCapabilities::builder().enable_tools().enable_resources().enable_tasks().build();
        let request = CustomRequest::new(method, params);
        assert_eq!(objection(&request, &offered).as_deref(), expected, "{method}");
    }

    #[test]
    fn what_is_wrong_with_a_request_is_said() {
        let call = |params| Some(json!(params));
        check(
            "tools/call",
            call(json!({"name": "x", "arguments": [1]})),
            Some("`arguments` of tools/call is an array and has to be an object"),
        );
        check(
            "tools/call",
            call(json!({"name": "x", "arguments": "{}"})),
            Some("`arguments` of tools/call is a string and has to be an object"),
        );
        check("tools/call", call(json!({"arguments": {}})), Some("tools/call needs `name`, a string"));
        check("tools/call", call(json!({"name": 1})), Some("`name` of tools/call is a number and has to be a string"));
        check("tools/call", call(json!([])), Some("the parameters of tools/call are an array and have to be an object"));
        check("tools/call", None, Some("tools/call needs `name`, a string"));
        check("tools/list", call(json!({"cursor": 1})), Some("`cursor` of tools/list is a number and has to be a string"));
        check("resources/read", call(json!({})), Some("resources/read needs `uri`, a string"));
        check("tasks/get", call(json!({})), Some("tasks/get needs `taskId`, a string"));
        let of_no_form = "the parameters of tasks/get do not have the form that the protocol gives them";
        check("tasks/get", call(json!({"taskId": "x", "_meta": 1})), Some(of_no_form));
    }

    #[test]
    fn methods_that_are_not_offered_are_left_alone() {
        check("prompts/get", Some(json!({})), None);
        check("tools/break", Some(json!({})), None);
    }
}
