/** A first request in several languages, with the person's key filled in. */
import { requestForms } from "../playground/request.ts";

export interface Snippet {
  readonly name: string;
  readonly code: string;
}

const input = "Say hello in five words.";

const python = (origin: string, key: string, model: string): string =>
  [
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${origin}/api/v1", api_key="${key}")`,
    `response = client.responses.create(model="${model}", input="${input}")`,
    "print(response.output_text)",
  ].join("\n");

const go = (origin: string, key: string, model: string): string =>
  [
    "package main",
    "",
    "import (",
    '\t"context"',
    '\t"fmt"',
    "",
    '\t"github.com/openai/openai-go/v3"',
    '\t"github.com/openai/openai-go/v3/option"',
    ")",
    "",
    "func main() {",
    `\tclient := openai.NewClient(option.WithBaseURL("${origin}/api/v1"), option.WithAPIKey("${key}"))`,
    "\tanswer, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{",
    `\t\tModel:    "${model}",`,
    `\t\tMessages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("${input}")},`,
    "\t})",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tfmt.Println(answer.Choices[0].Message.Content)",
    "}",
  ].join("\n");

export function snippetsFor(origin: string, key: string, model: string): readonly Snippet[] {
  const fromPlayground = (form: string): string => {
    const found = requestForms.find(({ name }) => name === form);
    const code = found?.write({ model, input }, origin) ?? "";
    return code.replaceAll("process.env.SLUICE_KEY", JSON.stringify(key)).replaceAll("$SLUICE_KEY", key);
  };
  return [
    { name: "curl", code: fromPlayground("curl") },
    { name: "Python", code: python(origin, key, model) },
    { name: "JavaScript", code: fromPlayground("openai") },
    { name: "Go", code: go(origin, key, model) },
    { name: "Claude Code", code: fromPlayground("Claude Code") },
  ];
}
