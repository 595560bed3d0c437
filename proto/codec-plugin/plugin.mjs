/**
 * Generates the codec of a session, proto/runtime/session/gen/codec.ts. `npm run gen` runs it as a plugin of buf.
 *
 * Every turn passes through this codec, and the schema-driven one of @bufbuild/protobuf takes several times as long. Static code for each message
 * is as fast as code by hand, and has every field of the contract.
 */
import { createEcmaScriptPlugin, runNodeJs } from "@bufbuild/protoplugin";
import { emptyMessage } from "./empty.mjs";
import { readMessage } from "./read.mjs";
import { codeName, memberName } from "./values.mjs";
import { writeMessage } from "./write.mjs";

/** The file whose messages a session carries. */
const sessionFile = "sluice/inference/v1/session";

/** From the generated file to the code that protoc-gen-es generates. */
const messagesFolder = "../../../gen";

const inContract = (...names) => new Set(names.map((name) => `sluice.inference.v1.${name}`));

/** Messages that most turns have, which get code of their own. A field of any other message leaves its value to the schema-driven codec. */
const frequent = inContract(
  ...["SessionRequest", "ClientFrame", "Open", "RunTurnRequest", "Cancel"],
  ...["SessionResponse", "ServerFrame", "Batch", "TurnEvent"],
  ...["TurnStart", "ItemStart", "TextDelta", "ArgumentsDelta", "ItemEnd", "TurnEnd"],
  ...["Usage", "Cost", "ServerToolUse"],
);

/**
 * Members that come last on the wire; all others have the order of their numbers. Together they put the input of the last request at the end
 * of the bytes, so that a large one follows the message without a copy.
 */
const last = inContract("ClientFrame.frame", "Open.request", "RunTurnRequest.input_json");

/** Bytes that follow the message, where they are large and nothing comes after them. */
const following = inContract("RunTurnRequest.input_json");

/** Lists whose elements are written by a function of the caller, which can leave out one that the contract cannot express. */
const delegated = inContract("SessionResponse.frames");

/**
 * Messages that are decoded when they are used. A message to a gateway may carry events of a thousand turns, and these wait for the shares of their
 * keys: as objects they took ten times their bytes, and each collection of young garbage copied them.
 */
const late = inContract("Batch");

const context = { frequent, last, following, delegated, late };

/** Names that the generated code may import from each file. */
const runtimeNames = {
  "@bufbuild/protobuf": ["toBinary"],
  "../backward-writer.ts": ["type BackwardWriter"],
  "../fields.ts": [
    "boolField",
    "bytesField",
    "doubleField",
    "closePart",
    "followingField",
    "int32Field",
    "int64Field",
    "messageField",
    "textField",
    "uint32Field",
    "uint64Field",
    "unknownFields",
  ],
  "../wire-reader.ts": ["type WireReader", "decodeMessage", "none", "readBySchema", "setEntry", "unfamiliar", "unset"],
};

function generate(schema) {
  const all = schema.allFiles.flatMap((file) => file.messages);
  requireNames(all);
  const messages = all.filter(({ typeName }) => frequent.has(typeName));
  const lines = messages.flatMap((message) =>
    [emptyMessage, writeMessage, readMessage].flatMap((make) => ["", ...make(message, context)]),
  );
  const output = schema.generateFile("codec.ts");
  output.preamble(schema.allFiles.find(({ name }) => name === sessionFile));
  for (const line of [...importLines(messages, lines.join("\n")), ...lines]) output.print(line);
}

/** @throws when a name in the sets above is not in the contract */
function requireNames(messages) {
  const known = new Set(messages.flatMap((message) => [message.typeName, ...message.members.map(memberName)]));
  for (const name of Object.values(context).flatMap((names) => [...names])) {
    if (!known.has(name)) throw new Error(`the contract has no ${name}`);
  }
}

/** Imports what occurs in the code: functions of the runtime, and types and schemas of the messages and of those in their fields. */
function importLines(messages, code) {
  const words = new Set(code.match(/\w+/g));
  const namesByFile = new Map(Object.entries(runtimeNames));
  for (const message of new Set(
    messages.flatMap((one) => [one, ...one.fields.flatMap((field) => field.message ?? [])]),
  )) {
    const file = `${messagesFolder}/${message.file.name}_pb.ts`;
    const names = [`type ${codeName(message)}`, `${codeName(message)}Schema`];
    namesByFile.set(file, [...(namesByFile.get(file) ?? []), ...names]);
  }
  return [...namesByFile].flatMap(([file, names]) => {
    const used = names.filter((name) => words.has(name.replace("type ", "")));
    return used.length > 0 ? [`import { ${used.join(", ")} } from ${JSON.stringify(file)};`] : [];
  });
}

runNodeJs(createEcmaScriptPlugin({ name: "codec-plugin", version: "v1", generateTs: generate }));
