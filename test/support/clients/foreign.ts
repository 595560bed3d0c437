/** Runs clients in other languages through their features, each feature in a test of its own. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Reply, chatChunk, chatStream } from "../providers/upstream.ts";
import { testCoverage } from "./coverage.ts";
import { type ToolchainName, install, toolchains } from "./languages.ts";
import { ClientProgram } from "./program.ts";
import { type ClientStage, clientStage, pixelUrl } from "./stage.ts";
import { type ClientFeature, coveredClients } from "./table.ts";

/** Scripts the provider while a client runs a feature. @returns a check of what the provider received, if the client's result does not show enough */
type Scene = (stage: ClientStage) => (() => void | Promise<void>) | void;

const piece = (index: number, args: string, id?: string) =>
  chatChunk({
    tool_calls: [
      { index, ...(id && { id, type: "function" }), function: { ...(id && { name: "w" }), arguments: args } },
    ],
  });

/** Two calls whose argument deltas alternate. */
const byTurns: Reply = {
  chunks: [
    {
      sse: [
        piece(0, "", "call_1"),
        piece(1, "", "call_2"),
        piece(0, '{"town":'),
        piece(1, '{"town":'),
        piece(0, '"Oslo"}'),
        piece(1, '"Rome"}'),
        chatChunk({}, "tool_calls"),
        { choices: [], usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } },
        "[DONE]",
      ],
    },
  ],
};

const tooLong = {
  message: "This model's maximum context length is 10 tokens. However, your messages resulted in 20 tokens.",
  type: "invalid_request_error",
  param: "messages",
  code: "context_length_exceeded",
};

const scenes: Partial<Readonly<Record<ClientFeature, Scene>>> = {
  "parallel tools": ({ upstream }) => upstream.script([byTurns, chatStream("Both clear.")]),
  images: (stage) => {
    stage.answer("A dot.");
    return () => expect(stage.picture()).toBe(pixelUrl);
  },
  thinking: ({ upstream }) => {
    const thought = chatChunk({ role: "assistant", reasoning_content: "Hm." });
    upstream.script([{ chunks: [{ sse: [thought, chatChunk({ content: "Yes." }, "stop"), "[DONE]"] }] }]);
  },
  "context overflow": ({ upstream }) => upstream.script([{ status: 400, chunks: [{ json: { error: tooLong } }] }]),
  abort: (stage) => {
    const closed = stage.hang();
    return async () => void (await closed);
  },
  retries: (stage) => stage.beBusyOnce("Now."),
  embeddings: (stage) => void stage.embed(2),
};

/** Names of the features on a program's command line. */
const commands: Partial<Readonly<Record<ClientFeature, string>>> = {
  "parallel tools": "parallel",
  "structured output": "structured",
  "context overflow": "overflow",
};

/** The tests of all clients in a set, after the installation of the set. @param set name of the set in `coveredClients` */
export async function testForeignClients(set: ToolchainName): Promise<void> {
  const installation = await install(toolchains[set]);
  const clients = coveredClients.filter((each) => each.foreign?.set === set);
  if ("missing" in installation) {
    describe(`${clients.map(({ client }) => client).join(", ")}: skipped, because ${installation.missing}`, () =>
      test.skip(set, () => {}));
    return;
  }
  const stage = clientStage();
  for (const program of new Set(clients.map((each) => each.foreign?.program ?? ""))) {
    describe(program, () => testProgramOf(set, installation.folder, program, stage));
  }
}

function testProgramOf(set: ToolchainName, folder: string, name: string, stage: ClientStage): void {
  let program: ClientProgram | undefined;
  beforeAll(async () => {
    program = await ClientProgram.start(toolchains[set], folder, name, stage.installation);
  });
  afterAll(() => program?.stop());
  for (const { installed, door, features, foreign } of coveredClients) {
    if (foreign?.set !== set || foreign.program !== name) continue;
    const run = async (feature: ClientFeature) => {
      const check = scenes[feature]?.(stage);
      await program?.run(door, commands[feature] ?? feature);
      await check?.();
    };
    testCoverage(
      installed.join(),
      door,
      Object.fromEntries(features.map((feature) => [feature, () => run(feature)])) as Readonly<
        Record<ClientFeature, () => Promise<void>>
      >,
    );
  }
}
