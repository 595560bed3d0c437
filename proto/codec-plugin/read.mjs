/** Generates the code that reads a message. An unknown field, such as one of a later build, leaves the whole message to the schema-driven codec. */
import { absentValue, returnMessage, zeroOf } from "./empty.mjs";
import { block, codeName, entryValueTag, formOf, indent, isOneof, keyTag, memberType } from "./values.mjs";

/**
 * Generates code that reads the fields into variables and then creates the object: creating the object first took a
 * thirtieth longer.
 */
export function readMessage(message, context) {
  const name = codeName(message);
  const { members } = message;
  const cases = members.flatMap((member) =>
    (isOneof(member) ? member.fields : [member]).flatMap((field) => readCase(field, member, formOf(field, context))),
  );
  const isChoice = members.length === 1 && isOneof(members[0]);
  const maps = message.fields.filter((field) => formOf(field, context)?.kind === "map");
  return [
    `export function read${name}(reader: WireReader, end: number): ${name} {`,
    ...indent(members.map(declare)),
    ...indent(isChoice ? readOnce(cases) : readLoop(cases)),
    ...indent(returnMessage(message, variableOf)),
    "}",
    ...maps.flatMap((field) => ["", ...readEntry(field, formOf(field, context))]),
    ...(context.late.has(message.typeName) ? ["", ...unreadClass(message)] : []),
  ];
}

/**
 * Name of the variable for a field. No field name begins with an underscore, so the variable hides no name used in the
 * code.
 */
const variableOf = ({ localName }) => `_${localName}`;

function declare(member) {
  const absent = absentValue(member);
  const type = `${memberType(member)}${absent === "undefined" ? " | undefined" : ""}`;
  return `let ${variableOf(member)}: ${type} = ${absent};`;
}

const readLoop = (cases) => [
  // A message without fields gets no switch.
  ...(cases.length > 0 ? block("while (reader.at < end)", readSwitch(cases)) : []),
  "reader.ends(end);",
];

/**
 * A message with a single oneof has one field and needs no loop. If the bytes have several, the schema-driven codec
 * merges them.
 */
const readOnce = (cases) => [...block("if (reader.at < end)", readSwitch(cases)), "reader.ends(end);"];

const readSwitch = (cases) => [
  "switch (reader.varint()) {",
  ...indent([...cases, "default:", "  throw unsupportedMessage;"]),
  "}",
];

function readCase(field, member, form) {
  if (!form) return [];
  const { kind, value, tag } = form;
  const variable = variableOf(member);
  const lines = {
    single: isOneof(member) ? readChoice(field, member, value) : readSingle(field, variable, value),
    list: [`${variable}.push(${value.read});`],
    map: [`${entryReader(field)}(reader, reader.end(), ${variable});`],
  }[kind];
  return [`case ${tag}:`, ...indent([...lines, "break;"])];
}

/**
 * Generates code for a member of a oneof. The contract merges a repeated message, and of several members the last wins.
 */
const readChoice = ({ localName }, oneof, value) => [
  ...(oneof.parent.members.length > 1 ? [`if (${variableOf(oneof)} !== unsetOneof) throw unsupportedMessage;`] : []),
  `${variableOf(oneof)} = { case: ${JSON.stringify(localName)}, value: ${value.read} };`,
];

const readSingle = ({ message }, variable, value) => [
  ...(message ? [`if (${variable} !== undefined) throw unsupportedMessage;`] : []),
  `${variable} = ${value.read};`,
];

const entryReader = ({ parent, localName }) =>
  `read${codeName(parent)}${localName[0].toUpperCase()}${localName.slice(1)}`;

function readEntry(field, { value }) {
  const type = memberType(field);
  const cases = [
    ...[`case ${keyTag}:`, "  key = reader.string();", "  break;"],
    ...[`case ${entryValueTag(value)}:`, `  value = ${value.read};`, "  break;"],
  ];
  return [
    `function ${entryReader(field)}(reader: WireReader, end: number, entries: ${type}): void {`,
    '  let key = "";',
    `  let value: ${type}[string] = ${zeroOf(field)};`,
    ...indent([...readLoop(cases), "setEntry(entries, key, value);"]),
    "}",
  ];
}

/**
 * Generates the class for a message whose bytes are decoded when a field is read. It has no base class: with one, a
 * message with one event took a tenth longer.
 */
function unreadClass(message) {
  const name = codeName(message);
  const getters = message.members.flatMap((member) => [
    `get ${member.localName}(): ${memberType(member)} {`,
    `  return (this.#message ??= this.#read()).${member.localName};`,
    "}",
    "",
  ]);
  return [
    `class Unread${name} implements ${name} {`,
    `  readonly $typeName = ${JSON.stringify(message.typeName)};`,
    "  readonly #bytes: Buffer;",
    "  readonly #start: number;",
    "  readonly #end: number;",
    `  #message: ${name} | undefined = undefined;`,
    "",
    "  constructor(reader: WireReader, end: number) {",
    "    this.#bytes = reader.bytes;",
    "    this.#start = reader.at;",
    "    this.#end = end;",
    "    reader.at = end;",
    "  }",
    "",
    ...indent(getters),
    `  #read(): ${name} {`,
    `    return decodeMessage(${name}Schema, read${name}, this.#bytes, this.#start, this.#end);`,
    "  }",
    "}",
  ];
}
