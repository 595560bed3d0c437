/**
 * What processes of different builds know of each other's messages while a house is being upgraded.
 *
 * Protobuf leaves out in silence what a reader has never heard of. Where that would change what was asked for (a plugin, a rule of a guardrail),
 * the reader says in its greeting what it knows, and who sends compares. Contracts only grow and field numbers are never used again, so the
 * highest number of each message says it all.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { beforeGreetings } from "./before-greetings.ts";

/** By full name of a message, the highest number of its fields. A message that is missing is not known. */
export type Knowledge = Readonly<Record<string, number>>;

/** What this build knows of these messages and all that is in them. */
export function knowledgeOf(...schemas: readonly DescMessage[]): Knowledge {
  const known: Record<string, number> = {};
  const add = (schema: DescMessage): void => {
    if (schema.typeName in known) return;
    known[schema.typeName] = Math.max(0, ...schema.fields.map(({ number }) => number));
    for (const { message } of schema.fields) if (message) add(message);
  };
  for (const schema of schemas) add(schema);
  return known;
}

/** What a greeting says, or stands for when it says nothing. */
export const greeted = (knows: Knowledge): Knowledge => (Object.keys(knows).length > 0 ? knows : beforeGreetings);

/** Whether there is anything in the one that the other has never heard of. */
export const isBehind = (other: Knowledge, own: Knowledge): boolean =>
  Object.entries(own).some(([name, highest]) => (other[name] ?? 0) < highest);

/** Path of the first field that is set and that a reader does not know, as `provider.max_price`; undefined when it knows all of them. */
export const unknownTo = <Desc extends DescMessage>(
  known: Knowledge,
  schema: Desc,
  message: MessageShape<Desc>,
): string | undefined => firstUnknown(known, reflect(schema, message, false));

function firstUnknown(known: Knowledge, message: ReflectMessage): string | undefined {
  const highest = known[message.desc.typeName] ?? 0;
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (field.number > highest) return field.name;
    for (const part of partsOf(message, field)) {
      const path = firstUnknown(known, part);
      if (path !== undefined) return `${field.name}.${path}`;
    }
  }
  return undefined;
}

/** Path and number of the first field that was sent by a newer build; undefined when this one knows all of them. */
export const strangeIn = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string | undefined =>
  firstStrange(reflect(schema, message, false));

function firstStrange(message: ReflectMessage): string | undefined {
  const strange = message.message.$unknown?.[0];
  if (strange) return String(strange.no);
  for (const field of message.fields) {
    for (const part of partsOf(message, field)) {
      const path = firstStrange(part);
      if (path !== undefined) return `${field.name}.${path}`;
    }
  }
  return undefined;
}

/** The messages in a field. */
function partsOf(message: ReflectMessage, field: ReflectMessage["fields"][number]): ReflectMessage[] {
  if (!field.message || !message.isSet(field)) return [];
  if (field.fieldKind === "message") return [message.get(field)];
  if (field.fieldKind === "list") return [...message.get(field)] as ReflectMessage[];
  return [...(message.get(field) as Iterable<[unknown, ReflectMessage]>)].map(([, part]) => part);
}
