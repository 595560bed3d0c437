/**
 * Message fields that processes of different builds support during a rolling upgrade.
 *
 * Protobuf readers silently drop unknown fields. For messages in which that would change the meaning of a request (a
 * plugin, a rule of a guardrail), the reader sends a list of its supported fields when a connection begins, and the
 * sender compares. Contracts only grow and field numbers are never reused, so the highest number of each message is
 * enough.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

/** Highest supported field number by full message name. A message that is not listed is not supported. */
export type SupportedFields = Readonly<Record<string, number>>;

/** Fields that this build supports in these messages and all messages inside them. */
export function supportedFieldsOf(...schemas: readonly DescMessage[]): SupportedFields {
  const known: Record<string, number> = {};
  const add = (schema: DescMessage): void => {
    if (schema.typeName in known) return;
    known[schema.typeName] = Math.max(0, ...schema.fields.map(({ number }) => number));
    for (const { message } of schema.fields) if (message) add(message);
  };
  for (const schema of schemas) add(schema);
  return known;
}

/** Fields that a peer supports, by the list that it sent; a peer of a build without such lists gets a fixed one. */
export const supportedByPeer = (knows: SupportedFields): SupportedFields =>
  Object.keys(knows).length > 0 ? knows : legacyPeers;

/** Whether this build supports a field that the other build does not. */
export const lacksFieldsOf = (other: SupportedFields, own: SupportedFields): boolean =>
  Object.entries(own).some(([name, highest]) => (other[name] ?? 0) < highest);

/**
 * Path of the first set field that a reader does not support, such as `provider.max_price`; undefined when it supports
 * all.
 */
export const unsupportedFieldIn = <Desc extends DescMessage>(
  known: SupportedFields,
  schema: Desc,
  message: MessageShape<Desc>,
): string | undefined => firstUnsupported(known, reflect(schema, message, false));

function firstUnsupported(known: SupportedFields, message: ReflectMessage): string | undefined {
  const highest = known[message.desc.typeName] ?? 0;
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (field.number > highest) return field.name;
    for (const part of partsOf(message, field)) {
      const path = firstUnsupported(known, part);
      if (path !== undefined) return `${field.name}.${path}`;
    }
  }
  return undefined;
}

/**
 * Path and number of the first field unknown to this build, which a newer build has added; undefined when all are
 * known.
 */
export const unknownFieldIn = <Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): string | undefined => firstUnknown(reflect(schema, message, false));

function firstUnknown(message: ReflectMessage): string | undefined {
  const strange = message.message.$unknown?.[0];
  if (strange) return String(strange.no);
  for (const field of message.fields) {
    for (const part of partsOf(message, field)) {
      const path = firstUnknown(part);
      if (path !== undefined) return `${field.name}.${path}`;
    }
  }
  return undefined;
}

/** Messages contained in a field. */
function partsOf(message: ReflectMessage, field: ReflectMessage["fields"][number]): ReflectMessage[] {
  if (!field.message || !message.isSet(field)) return [];
  if (field.fieldKind === "message") return [message.get(field)];
  if (field.fieldKind === "list") return [...message.get(field)] as ReflectMessage[];
  return [...(message.get(field) as Iterable<[unknown, ReflectMessage]>)].map(([, part]) => part);
}

/** Fields that builds without such lists support. Remove this constant once upgrades from those builds have ended. */
export const legacyPeers: SupportedFields = {
  "sluice.inference.v1.RunTurnRequest": 36,
  "sluice.inference.v1.CacheControl": 1,
  "sluice.inference.v1.ProviderPreferences": 14,
  "sluice.inference.v1.MaxPrice": 5,
  "sluice.inference.v1.Percentiles": 4,
  "sluice.admin.v1.Caller": 8,
  "sluice.admin.v1.Guardrail": 9,
  "sluice.admin.v1.ContentFilter": 3,
  "sluice.admin.v1.BuiltinFilter": 3,
  "sluice.admin.v1.RoutingPolicy": 14,
  "sluice.admin.v1.JudgeRule": 4,
  "sluice.admin.v1.RateLimits": 3,
  "sluice.admin.v1.CreateGuardrailRequest": 13,
  "sluice.admin.v1.UpdateGuardrailRequest": 2,
  "sluice.admin.v1.GuardrailRecord": 16,
  "sluice.admin.v1.CreateKeyRequest": 7,
  "sluice.admin.v1.UpdateKeyRequest": 2,
  "sluice.admin.v1.Key": 14,
  "sluice.admin.v1.Spending": 5,
  "google.protobuf.FieldMask": 1,
  "google.protobuf.Timestamp": 2,
};
