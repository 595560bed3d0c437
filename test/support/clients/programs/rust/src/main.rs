//! Runs async-openai: reads a line `door feature` from stdin, runs that feature, and writes one line of JSON with its outcome.
use async_openai::{
    config::OpenAIConfig,
    types::{chat::*, embeddings::*, responses::*},
    Client,
};
use futures::StreamExt;
use serde_json::{from_value, json, Value};
use std::{env, io::stdin};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn client() -> Client<OpenAIConfig> {
    let (url, key) = (env::var("SLUICE_BASE_URL").unwrap(), env::var("SLUICE_API_KEY").unwrap());
    Client::with_config(OpenAIConfig::new().with_api_base(url).with_api_key(key))
}

fn has(text: &str, part: &str) -> Outcome {
    text.contains(part).then_some(()).ok_or_else(|| format!("{text:?} has no {part:?}").into())
}

fn same<T: PartialEq + std::fmt::Debug>(seen: T, expected: T) -> Outcome {
    (seen == expected).then_some(()).ok_or_else(|| format!("{seen:?} is not {expected:?}").into())
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]})
}

fn moon() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "planet": {"type": "string", "enum": ["Mars", "Jupiter"]}},
        "required": ["name", "planet"],
        "additionalProperties": false
    })
}

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "w", "description": "Weather", "parameters": parameters()}}])
}

fn ask(model: &str, content: Value, more: Value) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": content}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn chat(body: Value) -> Result<CreateChatCompletionResponse, Box<dyn std::error::Error>> {
    Ok(client().chat().create(from_value::<CreateChatCompletionRequest>(body)?).await?)
}

fn text_of(answer: &CreateChatCompletionResponse) -> &str {
    answer.choices[0].message.content.as_deref().unwrap_or("")
}

async fn respond(body: Value) -> Result<Response, Box<dyn std::error::Error>> {
    Ok(client().responses().create(from_value::<CreateResponse>(body)?).await?)
}

async fn chat_stream() -> Outcome {
    for options in [json!({}), json!({"stream_options": {"include_usage": true}})] {
        let body = ask("sluice/echo", json!("Count to three."), options);
        let mut stream = client().chat().create_stream(from_value::<CreateChatCompletionRequest>(body)?).await?;
        let (mut text, mut tokens) = (String::new(), 0);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            for choice in &chunk.choices {
                text += choice.delta.content.as_deref().unwrap_or("");
            }
            tokens += chunk.usage.map_or(0, |usage| usage.completion_tokens);
        }
        has(&text, "Count to three.")?;
        same(tokens > 0, true)?;
    }
    Ok(())
}

async fn chat_tools() -> Outcome {
    let first = chat(ask("sluice/echo", json!("Weather in Oslo?"), json!({"tools": tools()}))).await?;
    let message = serde_json::to_value(&first.choices[0].message)?;
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "clear sky"});
    let call = json!({"role": "assistant", "tool_calls": message["tool_calls"]});
    let messages = json!([{"role": "user", "content": "Weather in Oslo?"}, call, result]);
    let second = chat(json!({"model": "sluice/echo", "messages": messages, "tools": tools()})).await?;
    has(text_of(&second), "clear sky")
}

/// Takes a call as whole once another one begins, as programs do that run calls while the answer streams.
async fn chat_parallel() -> Outcome {
    let body = ask("far/model", json!("Weather?"), json!({"tools": tools()}));
    let mut stream = client().chat().create_stream(from_value::<CreateChatCompletionRequest>(body)?).await?;
    let (mut calls, mut order) = (vec![String::new(); 2], vec![]);
    while let Some(chunk) = stream.next().await {
        for call in chunk?.choices.first().and_then(|choice| choice.delta.tool_calls.clone()).unwrap_or_default() {
            order.push(call.index);
            calls[call.index as usize] += &call.function.and_then(|function| function.arguments).unwrap_or_default();
        }
    }
    same(order.is_sorted(), true)?;
    same(calls, vec![r#"{"town":"Oslo"}"#.to_string(), r#"{"town":"Rome"}"#.to_string()])
}

async fn responses_stream() -> Outcome {
    let body = from_value::<CreateResponse>(json!({"model": "sluice/echo", "input": "Count to three.", "stream": true}))?;
    let mut stream = client().responses().create_stream(body).await?;
    let (mut text, mut tokens) = (String::new(), 0);
    while let Some(event) = stream.next().await {
        match event? {
            ResponseStreamEvent::ResponseOutputTextDelta(piece) => text += &piece.delta,
            ResponseStreamEvent::ResponseCompleted(end) => tokens = end.response.usage.map_or(0, |usage| usage.output_tokens),
            _ => {}
        }
    }
    has(&text, "Count to three.")?;
    same(tokens > 0, true)
}

async fn run(feature: &str) -> Outcome {
    let structured = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "moon", "schema": moon(), "strict": true}}});
    match feature {
        "chat text" => has(text_of(&chat(ask("sluice/echo", json!("Name a moon."), json!({}))).await?), "Name a moon."),
        "chat stream" => chat_stream().await,
        "chat tools" => chat_tools().await,
        "chat parallel" => chat_parallel().await,
        "chat structured" => has(text_of(&chat(ask("sluice/echo", json!("A moon?"), structured)).await?), r#""planet":"Mars""#),
        "chat images" => {
            let parts = json!([{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]);
            same(text_of(&chat(ask("far/model", parts, json!({}))).await?), "A dot.")
        }
        // Its type for errors has a text as code, where the contract has a number: it shows the whole body instead.
        "chat errors" => match chat(ask("nobody/nothing", json!("x"), json!({}))).await {
            Ok(_) => Err("an unknown model answered".into()),
            Err(error) => has(&error.to_string(), "nobody/nothing"),
        },
        "chat abort" => {
            let body = from_value::<CreateChatCompletionRequest>(ask("far/model", json!("x"), json!({})))?;
            let mut stream = client().chat().create_stream(body).await?;
            while let Some(chunk) = stream.next().await {
                if chunk?.choices[0].delta.content.as_deref().is_some_and(|text| !text.is_empty()) {
                    break;
                }
            }
            Ok(())
        }
        "responses text" => {
            let answer = respond(json!({"model": "sluice/echo", "input": "Name a moon."})).await?;
            has(&answer.output_text().unwrap_or_default(), "Name a moon.")
        }
        "responses stream" => responses_stream().await,
        "embeddings embeddings" => {
            let body = from_value::<CreateEmbeddingRequest>(json!({"model": "far/embed", "input": ["a b", "c d"]}))?;
            let answer = client().embeddings().create(body).await?;
            same(answer.data.into_iter().map(|each| each.embedding).collect(), vec![vec![0.5, 1.0], vec![1.5, 1.0]])
        }
        "embeddings errors" => {
            let body = from_value::<CreateEmbeddingRequest>(json!({"model": "near/none", "input": "x"}))?;
            has(&client().embeddings().create(body).await.err().ok_or("an unknown model answered")?.to_string(), "near/none")
        }
        _ => Err("no such feature".into()),
    }
}

#[tokio::main]
async fn main() {
    println!(r#"{{"ready":true}}"#);
    for line in stdin().lines() {
        let outcome = match run(&line.unwrap()).await {
            Ok(()) => json!({"passed": true}),
            Err(error) => json!({"passed": false, "error": error.to_string()}),
        };
        println!("{outcome}");
    }
}
