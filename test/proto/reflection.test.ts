/** Server reflection: a client without .proto files learns the services and their messages from the server, and calls them. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileRegistry, fromBinary, fromJson, toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ServerReflection } from "@sluice/proto/gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as Alpha } from "@sluice/proto/gen/grpc/reflection/v1alpha/reflection_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { type RpcServer, serveRpc } from "@sluice/proto/lib/rpc/serve.js";

const log = openLog("test", "silent");
const lifecycle = new Lifecycle(log);
let server: RpcServer;
let baseUrl: string;

beforeAll(async () => {
  server = await serveRpc({
    port: 0,
    lifecycle,
    log,
    services: [InferenceService],
    routes: (router) => {
      router.service(InferenceService, { embed: ({ model }) => ({ model: `${model}, embedded` }) });
    },
  });
  lifecycle.started();
  baseUrl = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server?.drain());

type Question = { readonly case: "listServices" | "fileByFilename" | "fileContainingSymbol"; readonly value: string };

async function ask(service: typeof ServerReflection | typeof Alpha, ...questions: readonly Question[]) {
  const client = createClient(service as typeof ServerReflection, createGrpcTransport({ baseUrl }));
  const answers = [];
  for await (const answer of client.serverReflectionInfo(
    (async function* () {
      for (const messageRequest of questions) yield { host: "h", messageRequest };
    })(),
  )) {
    expect(answer.validHost).toBe("h");
    answers.push(answer.messageResponse);
  }
  return answers;
}

describe.each([
  ["v1", ServerReflection],
  ["v1alpha", Alpha],
])("gRPC reflection with %s", (_, service) => {
  test("lists the services", async () => {
    const [listed] = await ask(service, { case: "listServices", value: "" });
    const names = listed?.case === "listServicesResponse" ? listed.value.service.map(({ name }) => name) : [];
    expect(names.toSorted()).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "sluice.inference.v1.InferenceService",
    ]);
  });

  test("describes a service with all its imports, sufficient to call it", async () => {
    const asked = { case: "fileContainingSymbol", value: "sluice.inference.v1.InferenceService" } as const;
    const [described] = await ask(service, asked);
    const bytes = described?.case === "fileDescriptorResponse" ? described.value.fileDescriptorProto : [];
    const file = bytes.map((each) => fromBinary(FileDescriptorProtoSchema, each));
    const [first, ...imported] = file;
    const learnt = createFileRegistry(first as FileDescriptorProto, (name) =>
      imported.find((each) => each.name === name),
    );
    const found = learnt.getService("sluice.inference.v1.InferenceService");
    expect(found?.methods.map(({ name }) => name)).toEqual(expect.arrayContaining(["CreateResponse", "Embed"]));
    const client = createClient(found as typeof InferenceService, createGrpcTransport({ baseUrl }));
    const input = fromJson(found?.method["embed"]?.input as never, { model: "m" });
    const answer = await client.embed(input);
    expect(toJson(found?.method["embed"]?.output as never, answer as never)).toEqual({
      model: "m, embedded",
    });
  });

  test.each(["RunTurn", "Embed"])("finds the method %s and a message within", async (method) => {
    const [ofMethod, ofMessage] = await ask(
      service,
      { case: "fileContainingSymbol", value: `sluice.inference.v1.InferenceService.${method}` },
      { case: "fileContainingSymbol", value: "sluice.inference.v1.TurnEvent" },
    );
    expect(ofMethod?.case).toBe("fileDescriptorResponse");
    expect(ofMessage?.case).toBe("fileDescriptorResponse");
  });

  test("finds files by their names, and reports unknown names", async () => {
    const answers = await ask(
      service,
      { case: "fileByFilename", value: "sluice/inference/v1/turn.proto" },
      { case: "fileByFilename", value: "nothing.proto" },
      { case: "fileContainingSymbol", value: "sluice.Nothing" },
    );
    expect(answers.map((each) => each.case)).toEqual(["fileDescriptorResponse", "errorResponse", "errorResponse"]);
    expect(answers[1]?.value).toMatchObject({ errorCode: 5, errorMessage: "Not found: nothing.proto" });
  });
});

test("a client with an open reflection stream gets a status when the server ends", async () => {
  const ending = new Lifecycle(log);
  const other = await serveRpc({ port: 0, lifecycle: ending, log, services: [], routes: () => {} });
  ending.started();
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${other.port}` });
  let end = () => {};
  const open = new Promise<void>((resolve) => {
    end = resolve;
  });
  async function* questions() {
    yield { messageRequest: { case: "listServices", value: "" } as const };
    await open;
  }
  const answers = createClient(ServerReflection, transport).serverReflectionInfo(questions())[Symbol.asyncIterator]();
  expect((await answers.next()).done).toBe(false);
  const ended = answers.next();
  ending.onDrain(() => other.drain());
  const drained = ending.drain(0);
  expect((await ended).done).toBe(true);
  end();
  await drained;
});
