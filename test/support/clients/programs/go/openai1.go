package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"
	"github.com/openai/openai-go/shared"
)

func init() {
	ctx := context.Background()
	client := openai.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey(apiKey), option.WithMaxRetries(0))
	ask := func(model, text string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{
			Model:    model,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		}
	}
	fold := func(params openai.ChatCompletionNewParams) (openai.ChatCompletionAccumulator, []string) {
		stream, whole, calls := client.Chat.Completions.NewStreaming(ctx, params), openai.ChatCompletionAccumulator{}, []string{}
		for stream.Next() {
			if !whole.AddChunk(stream.Current()) {
				panic("a chunk does not fit")
			}
			if call, ok := whole.JustFinishedToolCall(); ok {
				calls = append(calls, call.Arguments)
			}
		}
		must(0, stream.Err())
		return whole, calls
	}

	clients["openai1"] = features{
		"chat text": func() {
			answer := must(client.Chat.Completions.New(ctx, ask(echo, "Name a moon.")))
			has(answer.Choices[0].Message.Content, "Name a moon.")
		},
		"chat stream": func() {
			whole, _ := fold(ask(echo, "Count to three."))
			has(whole.Choices[0].Message.Content, "Count to three.")
			same(whole.Choices[0].FinishReason, "stop")
		},
		"chat parallel": func() {
			params, definition := ask(far, "Weather?"), shared.FunctionDefinitionParam{Name: "w", Parameters: town}
			params.Tools = []openai.ChatCompletionToolParam{{Function: definition}}
			_, calls := fold(params)
			same(calls, []string{`{"town":"Oslo"}`, `{"town":"Rome"}`})
		},
		"chat errors": func() {
			_, err := client.Chat.Completions.New(ctx, ask(unknown, "x"))
			var failure *openai.Error
			if !errors.As(err, &failure) || failure.StatusCode != 404 {
				panic(err)
			}
			same(failure.Type, "invalid_request_error")
		},
	}
}
