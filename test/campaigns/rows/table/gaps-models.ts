/** Rows of tools with calls to another model. */
import type { Row } from "../row.ts";
import { pixel } from "../services.ts";
import { calls, exampleFunction, output, service, tool } from "./asks.ts";

const functionsOnly = ["chat", "messages", "gemini", "converse"];

export const modelToolGaps: readonly Row[] = [
  {
    name: "2.5 tool service:subagent",
    cases: [
      {
        ask: service("subagent", { model: "t/other" }),
        says: calls("service_subagent", { task_name: "Compare", task_description: "LSM?" }),
        otherSays: [{ text: "LSM wins" }],
        to: { other: /LSM\?/ },
        sent: /LSM wins/,
        back: output({ type: "service:subagent", outcome: "LSM wins" }),
      },
      {
        ask: service("subagent", { model: "t/other", tools: [{ type: "service:datetime" }] }),
        says: calls("service_subagent", { task_name: "Date", task_description: "Which year?" }),
        otherSays: calls("service_datetime"),
        to: { other: /"role":"tool"/ },
        sent: /Done/,
        back: output({ type: "service:subagent", status: "completed", outcome: "Done" }),
      },
      {
        ask: {
          tools: [
            { type: "service:subagent", parameters: { model: "t/other", inherit_functions: true } },
            exampleFunction,
          ],
          stream: true,
        },
        says: calls("service_subagent", { task_name: "Compare", task_description: "LSM?" }),
        otherSays: calls("f", {}),
        back: output({ type: "service:subagent", status: "in_progress" }, { type: "function_call", name: "f" }),
      },
    ],
  },
  {
    name: "2.5 tool image_generation",
    cases: [
      {
        ask: tool("image_generation", { size: "1024x1024" }),
        on: ["responses"],
        sent: { tools: [{ type: "image_generation" }] },
      },
      {
        ask: tool("image_generation", { size: "1024x1024" }),
        on: functionsOnly,
        says: calls("image_generation", { prompt: "A cube" }),
        otherSays: [{ image: pixel }],
        to: { other: /A cube/ },
        back: output({ type: "image_generation_call", status: "completed" }),
      },
      { ask: tool("image_generation"), on: ["chat"], bare: true, refused: [400, /internal_models\.image/] },
    ],
  },
  {
    name: "2.5 tool service:image_generation",
    cases: [
      {
        ask: service("image_generation"),
        says: calls("service_image_generation", { prompt: "A cube" }),
        otherSays: [{ image: pixel }],
        to: { other: /A cube/ },
        back: output({ type: "service:image_generation", status: "completed" }),
      },
    ],
  },
  {
    name: "2.5 tool service:advisor",
    cases: [
      {
        ask: service("advisor"),
        says: calls("service_advisor", { prompt: "LSM?" }),
        otherSays: [{ text: "Take LSM" }],
        to: { other: /LSM\?/ },
        sent: /Take LSM/,
        back: output({ type: "service:advisor", advice: "Take LSM" }),
      },
      { ask: service("advisor"), on: ["chat"], bare: true, refused: [400, /internal_models\.advisor/] },
    ],
  },
];
