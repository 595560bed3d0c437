/** Generates the code that writes a message, from its end to its beginning. */
import {
  block,
  codeName,
  entryValueTag,
  formOf,
  indent,
  isOneof,
  isOptional,
  keyTag,
  memberName,
  partOf,
} from "./values.mjs";

export function writeMessage(message, context) {
  const members = message.members.toSorted((a, b) => rank(b, context) - rank(a, context));
  return [
    ...head(message, context),
    "  if (value.$unknown !== undefined) unknownFields(writer, value.$unknown);",
    ...indent(members.flatMap((member) => (isOneof(member) ? writeOneof : writeField)(member, context))),
    "}",
  ];
}

function head(message, { delegated }) {
  const name = codeName(message);
  const list = message.members.find((member) => delegated.has(memberName(member)));
  if (!list) return [`export function write${name}(writer: BackwardWriter, value: ${name}): void {`];
  return [
    `export function write${name}(`,
    "  writer: BackwardWriter,",
    `  value: ${name},`,
    `  writeElement: (writer: BackwardWriter, value: ${codeName(list.message)}) => void,`,
    "): void {",
  ];
}

/** Position of a member: the member with the highest rank is written first, and so is the last in the bytes. */
function rank(member, { last }) {
  if (last.has(memberName(member))) return Number.POSITIVE_INFINITY;
  return isOneof(member) ? Math.max(...member.fields.map(({ number }) => number)) : member.number;
}

function writeField(field, context) {
  const form = formOf(field, context);
  const path = `value.${field.localName}`;
  if (form?.kind === "list") return writeList(field, path, form, context);
  if (form?.kind === "map") return writeMap(field, path, form);
  if (!form)
    return isOptional(field) ? block(`if (${path} !== undefined)`, writeBySchema(field)) : writeBySchema(field);
  const isSet = isOptional(field) ? `${path} !== undefined` : form.value.isSet(path);
  const isFollowing = context.following.has(memberName(field));
  return block(
    `if (${isSet})`,
    isFollowing ? [`followingField(writer, ${path}, ${form.tag});`] : form.value.write(path, form.tag),
  );
}

function writeList(field, path, { value, tag }, { delegated }) {
  const lines = delegated.has(memberName(field))
    ? partOf(`writeElement(writer, ${path}[index]!);`, tag)
    : value.write(`${path}[index]!`, tag);
  return block(`for (let index = ${path}.length - 1; index >= 0; index--)`, lines);
}

/** Generates code that writes both key and value of each entry, even when empty, as the schema-driven codec does. */
function writeMap({ localName }, path, { value, tag }) {
  return [
    `const ${localName}Keys = Object.keys(${path});`,
    ...block(`for (let index = ${localName}Keys.length - 1; index >= 0; index--)`, [
      `const key = ${localName}Keys[index]!;`,
      "const entryEnd = writer.length;",
      ...value.write(`${path}[key]!`, entryValueTag(value)),
      `textField(writer, key, ${keyTag});`,
      `closePart(writer, entryEnd, ${tag});`,
    ]),
  ];
}

function writeOneof(oneof, context) {
  const { localName } = oneof;
  return [
    `const { ${localName} } = value;`,
    `switch (${localName}.case) {`,
    ...oneof.fields.flatMap((field) => {
      const form = formOf(field, context);
      const lines = form ? form.value.write(`${localName}.value`, form.tag) : writeBySchema(oneof);
      return indent([`case ${JSON.stringify(field.localName)}: {`, ...indent([...lines, "break;"]), "}"]);
    }),
    "}",
  ];
}

/** Generates code that encodes a message with only this member by the schema-driven codec. */
function writeBySchema({ parent, localName }) {
  const name = codeName(parent);
  return [`writer.bytes(toBinary(${name}Schema, { ...empty${name}(), ${localName}: value.${localName} }));`];
}
