/** Generates the code that creates a message. */
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { codeName, indent, isOneof, isOptional } from "./values.mjs";

export function emptyMessage(message) {
  const name = codeName(message);
  return [
    `/** An empty ${name} with all its fields in one order: objects of one shape are read faster wherever they go. */`,
    `export function empty${name}(): ${name} {`,
    ...indent(returnMessage(message, absentValue)),
    "}",
  ];
}

/** Generates the statement that returns a message with all its fields, in the order of the contract. */
export function returnMessage(message, valueOf) {
  const { typeName, members } = message;
  const hasOptional = members.some((member) => absentValue(member) === "undefined");
  return [
    "return {",
    `  $typeName: ${JSON.stringify(typeName)},`,
    ...indent(members.map((member) => `${member.localName}: ${valueOf(member)},`)),
    // The cast is needed because the types of optional fields do not include undefined.
    hasOptional ? `} as unknown as ${codeName(message)};` : "};",
  ];
}

export function absentValue(member) {
  if (isOneof(member)) return "unsetOneof";
  if (member.fieldKind === "list") return "[]";
  if (member.fieldKind === "map") return "{}";
  return isOptional(member) ? "undefined" : zeroOf(member);
}

/** The value of an unset scalar: zero or empty. */
export function zeroOf(field) {
  if (field.enum) return field.enum.values[0].number;
  const zero = scalarZeroValue(field.scalar, field.longAsString);
  if (zero instanceof Uint8Array) return "emptyBytes";
  return typeof zero === "bigint" ? `${zero}n` : JSON.stringify(zero);
}
