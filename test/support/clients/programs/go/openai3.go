package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

func init() {
	ctx := context.Background()
	client := func(retries int) openai.Client {
		return openai.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey(apiKey), option.WithMaxRetries(retries))
	}
	ask := func(model, text string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{
			Model:    model,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		}
	}
	tools := []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "w", Description: openai.String("Weather"), Parameters: town}),
	}
	chat := func(params openai.ChatCompletionNewParams) *openai.ChatCompletion {
		c := client(0)
		return must(c.Chat.Completions.New(ctx, params))
	}
	// What an accumulator sees of a stream: the whole answer, and each call at the moment at which it says that the call is whole.
	fold := func(params openai.ChatCompletionNewParams) (openai.ChatCompletionAccumulator, []string) {
		c := client(0)
		stream := c.Chat.Completions.NewStreaming(ctx, params)
		whole, calls := openai.ChatCompletionAccumulator{}, []string{}
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
	notFound := func(err error) {
		var failure *openai.Error
		if !errors.As(err, &failure) || failure.StatusCode != 404 {
			panic(err)
		}
		same(failure.Type, "invalid_request_error")
		same(failure.Param, "model")
	}
	answerTo := func(params responses.ResponseNewParams, retries int) *responses.Response {
		c := client(retries)
		return must(c.Responses.New(ctx, params))
	}
	input := func(model, text string) responses.ResponseNewParams {
		return responses.ResponseNewParams{
			Model: model,
			Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
		}
	}
	flatTools := []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "w", Parameters: town, Strict: openai.Bool(false)}}}

	clients["openai3"] = features{
		"chat text": func() {
			answer := chat(ask(echo, "Name a moon."))
			has(answer.Choices[0].Message.Content, "Name a moon.")
			same(answer.Usage.CompletionTokens > 0, true)
		},
		"chat stream": func() {
			for _, wanted := range []bool{false, true} {
				params := ask(echo, "Count to three.")
				if wanted {
					params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
				}
				whole, _ := fold(params)
				has(whole.Choices[0].Message.Content, "Count to three.")
				same(whole.Choices[0].FinishReason, "stop")
				same(whole.Usage.CompletionTokens > 0, wanted)
			}
		},
		"chat tools": func() {
			params := ask(echo, "Weather in Oslo?")
			params.Tools = tools
			first := chat(params).Choices[0].Message
			params.Messages = append(params.Messages, first.ToParam(), openai.ToolMessage("clear sky", first.ToolCalls[0].ID))
			has(chat(params).Choices[0].Message.Content, "clear sky")
		},
		"chat parallel": func() {
			params := ask(far, "Weather?")
			params.Tools = tools
			whole, calls := fold(params)
			same(len(whole.Choices[0].Message.ToolCalls), 2)
			same(calls, []string{`{"town":"Oslo"}`, `{"town":"Rome"}`})
		},
		"chat structured": func() {
			params := ask(echo, "A moon?")
			params.ResponseFormat.OfJSONSchema = &openai.ResponseFormatJSONSchemaParam{
				JSONSchema: openai.ResponseFormatJSONSchemaJSONSchemaParam{Name: "moon", Schema: moon, Strict: openai.Bool(true)},
			}
			has(chat(params).Choices[0].Message.Content, `"planet":"Mars"`)
		},
		"chat images": func() {
			params := ask(far, "")
			params.Messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.TextContentPart("What?"),
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + pixel}),
			})}
			same(chat(params).Choices[0].Message.Content, "A dot.")
		},
		"chat errors": func() {
			c := client(0)
			_, err := c.Chat.Completions.New(ctx, ask(unknown, "x"))
			notFound(err)
		},
		"chat abort": func() {
			leaving, leave := context.WithCancel(ctx)
			c := client(0)
			stream := c.Chat.Completions.NewStreaming(leaving, ask(far, "x"))
			for stream.Next() {
				if stream.Current().Choices[0].Delta.Content != "" {
					leave()
				}
			}
			leave()
		},
		"chat retries": func() {
			c := client(2)
			same(must(c.Chat.Completions.New(ctx, ask(far, "x"))).Choices[0].Message.Content, "Now.")
		},
		"responses text": func() { has(answerTo(input(echo, "Name a moon."), 0).OutputText(), "Name a moon.") },
		"responses stream": func() {
			c := client(0)
			stream, text, tokens := c.Responses.NewStreaming(ctx, input(echo, "Count to three.")), "", int64(0)
			for stream.Next() {
				event := stream.Current()
				if event.Type == "response.output_text.delta" {
					text += event.Delta
				} else if event.Type == "response.completed" {
					tokens = event.Response.Usage.OutputTokens
				}
			}
			must(0, stream.Err())
			has(text, "Count to three.")
			same(tokens > 0, true)
		},
		"responses tools": func() {
			params := input(echo, "")
			question := responses.ResponseInputItemParamOfMessage("Weather in Oslo?", responses.EasyInputMessageRoleUser)
			params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{question}}
			params.Tools = flatTools
			call := answerTo(params, 0).Output[0].AsFunctionCall()
			result := responses.ResponseInputItemParamOfFunctionCallOutput("clear sky")
			result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
			params.Input.OfInputItemList = append(
				params.Input.OfInputItemList,
				responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name),
				result,
			)
			has(answerTo(params, 0).OutputText(), "clear sky")
		},
		"responses parallel": func() {
			params := input(far, "Weather?")
			params.Tools = flatTools
			c := client(0)
			stream, calls := c.Responses.NewStreaming(ctx, params), []string{}
			pieces := ""
			for stream.Next() {
				event := stream.Current()
				if event.Type == "response.function_call_arguments.delta" {
					pieces += event.Delta
				} else if event.Type == "response.function_call_arguments.done" {
					calls, pieces = append(calls, pieces), ""
				}
			}
			must(0, stream.Err())
			same(calls, []string{`{"town":"Oslo"}`, `{"town":"Rome"}`})
		},
		"responses structured": func() {
			params := input(echo, "A moon?")
			params.Text = responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigParamOfJSONSchema("moon", moon)}
			has(answerTo(params, 0).OutputText(), `"planet":"Mars"`)
		},
		"responses images": func() {
			params := input(far, "")
			picture := responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
				Detail:   "auto",
				ImageURL: param.NewOpt("data:image/png;base64," + pixel),
			}}
			params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{
				responses.ResponseInputItemParamOfMessage(responses.ResponseInputMessageContentListParam{picture}, responses.EasyInputMessageRoleUser),
			}}
			same(answerTo(params, 0).OutputText(), "A dot.")
		},
		"responses thinking": func() {
			answer := answerTo(input(far, "Think."), 0)
			same(answer.Output[0].Type, "reasoning")
			same(answer.OutputText(), "Yes.")
		},
		"responses errors": func() {
			c := client(0)
			_, err := c.Responses.New(ctx, input(unknown, "x"))
			notFound(err)
		},
		"responses abort": func() {
			leaving, leave := context.WithCancel(ctx)
			c := client(0)
			stream := c.Responses.NewStreaming(leaving, input(far, "x"))
			for stream.Next() {
				if stream.Current().Type == "response.output_text.delta" {
					leave()
				}
			}
			leave()
		},
		"responses retries": func() { same(answerTo(input(far, "x"), 2).OutputText(), "Now.") },
		"embeddings embeddings": func() {
			c := client(0)
			texts := openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a b", "c d"}}
			answer := must(c.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: embedder, Input: texts}))
			same(answer.Data[0].Embedding, []float64{0.5, 1})
			same(answer.Data[1].Embedding, []float64{1.5, 1})
		},
		"embeddings errors": func() {
			c := client(0)
			text := openai.EmbeddingNewParamsInputUnion{OfString: openai.String("x")}
			_, err := c.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "near/none", Input: text})
			notFound(err)
		},
	}
}
