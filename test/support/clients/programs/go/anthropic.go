package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func init() {
	ctx := context.Background()
	client := func(retries int) anthropic.Client {
		// The SDK adds /v1 by itself.
		url := strings.TrimSuffix(baseURL, "/v1")
		return anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey(apiKey), option.WithMaxRetries(retries))
	}
	ask := func(model string, blocks ...anthropic.ContentBlockParamUnion) anthropic.MessageNewParams {
		return anthropic.MessageNewParams{
			Model:     anthropic.Model(model),
			MaxTokens: 500,
			Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(blocks...)},
		}
	}
	words := func(model, text string) anthropic.MessageNewParams { return ask(model, anthropic.NewTextBlock(text)) }
	tools := []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name:        "w",
		InputSchema: anthropic.ToolInputSchemaParam{Properties: town["properties"], Required: []string{"town"}},
	}}}
	answerTo := func(params anthropic.MessageNewParams, retries int) *anthropic.Message {
		c := client(retries)
		return must(c.Messages.New(ctx, params))
	}
	fold := func(params anthropic.MessageNewParams) anthropic.Message {
		c := client(0)
		stream, whole := c.Messages.NewStreaming(ctx, params), anthropic.Message{}
		for stream.Next() {
			must(0, whole.Accumulate(stream.Current()))
		}
		must(0, stream.Err())
		return whole
	}

	clients["anthropic"] = features{
		"messages text": func() { has(answerTo(words(echo, "Name a moon."), 0).Content[0].Text, "Name a moon.") },
		"messages stream": func() {
			whole := fold(words(echo, "Count to three."))
			has(whole.Content[0].Text, "Count to three.")
			same(whole.Usage.OutputTokens > 0, true)
		},
		"messages tools": func() {
			params := words(echo, "Weather in Oslo?")
			params.Tools = tools
			first := answerTo(params, 0)
			call := first.Content[len(first.Content)-1]
			params.Messages = append(
				params.Messages,
				first.ToParam(),
				anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, "clear sky", false)),
			)
			has(answerTo(params, 0).Content[0].Text, "clear sky")
		},
		"messages parallel": func() {
			params := words(far, "Weather?")
			params.Tools = tools
			towns := []string{}
			for _, block := range fold(params).Content {
				var input struct{ Town string }
				must(0, json.Unmarshal(block.Input, &input))
				towns = append(towns, input.Town)
			}
			same(towns, []string{"Oslo", "Rome"})
		},
		"messages images": func() {
			same(answerTo(ask(far, anthropic.NewImageBlockBase64("image/png", pixel)), 0).Content[0].Text, "A dot.")
		},
		"messages thinking": func() {
			answer := fold(words(far, "Think."))
			same([]string{answer.Content[0].Thinking, answer.Content[1].Text}, []string{"Hm.", "Yes."})
		},
		"messages errors": func() {
			c := client(0)
			_, err := c.Messages.New(ctx, words(unknown, "x"))
			var failure *anthropic.Error
			if !errors.As(err, &failure) || failure.StatusCode != 404 || failure.RequestID == "" {
				panic(err)
			}
		},
		"messages abort": func() {
			leaving, leave := context.WithCancel(ctx)
			c := client(0)
			stream := c.Messages.NewStreaming(leaving, words(far, "x"))
			for stream.Next() {
				if stream.Current().Type == "content_block_delta" {
					leave()
				}
			}
			leave()
		},
		"messages retries": func() { same(answerTo(words(far, "x"), 2).Content[0].Text, "Now.") },
	}
}
