//! What both providers' answers have in common, before it is checked against the request.

use serde_json::Value;

use crate::{Answer, Arguments, Finish, Request, ToolCall, Usage};

/// An answer as the provider sent it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) calls: Vec<DraftCall>,
    pub(crate) carry: Option<Value>,
    pub(crate) usage: Option<Usage>,
    pub(crate) finish: Finish,
    pub(crate) model: String,
    /// Bytes of thinking that was shown: they count as output where the server does not count.
    pub(crate) thought_bytes: usize,
}

/// A tool call as the provider sent it.
#[derive(Debug, Default)]
pub(crate) struct DraftCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Draft {
    /// The answer: ids unique in the conversation, arguments read, tokens counted or guessed. `model` is the name that was asked: what is
    /// carried is good for it only, and it stands in when the server does not say which one answered.
    pub(crate) fn into_answer(self, request: &Request, model: &str) -> Answer {
        let written =
            self.text.len() + self.thought_bytes + self.calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
        let last = self.calls.len().saturating_sub(1);
        let arguments = |index: usize, text: &str| {
            if self.finish == Finish::Length && index == last { Arguments::cut_off(text) } else { Arguments::parse(text) }
        };
        let mut carry = self.carry;
        if let Some(Value::Object(carry)) = &mut carry {
            carry.insert("model".to_owned(), model.into());
        }
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for (index, call) in self.calls.into_iter().enumerate() {
            calls.push(ToolCall { arguments: arguments(index, &call.arguments), id: call.id, name: call.name });
        }
        request.make_ids_unique(&mut calls);
        // Servers say `stop` after tool calls as often as not.
        let finish = if self.finish == Finish::Stop && !calls.is_empty() { Finish::ToolCalls } else { self.finish };
        Answer {
            text: (!self.text.is_empty()).then_some(self.text),
            calls,
            carry,
            usage: self.usage.unwrap_or_else(|| Usage::estimate(request.len_bytes(), written)),
            finish,
            model: if self.model.is_empty() { model.to_owned() } else { self.model },
        }
    }
}
