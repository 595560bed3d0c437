/** The routing policy of a guardrail: lists of models and providers, data policies, regions. */
import { type JsonObject, fromJson, toJson } from "@bufbuild/protobuf";
import { type RoutingPolicy, RoutingPolicySchema } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import {
  type ObjectShape,
  type Shape,
  array,
  boolean,
  deprecated,
  described,
  map,
  nullable,
  string,
  word,
} from "../../lib/validation/shape.ts";

/** The configured fields of a routing policy, by their names in JSON. */
export type RoutingPolicyJson = JsonObject;

/** Changed fields of a routing policy; null clears a field. */
export type RoutingPolicyChange = { readonly [field: string]: JsonObject[string] };

const slugs = (message: string): Shape =>
  described(nullable(array(string({ min: 1, max: 256, identifier: true }), { min: 1, max: 1_000 })), message);
const choice = (message: string): Shape => described(nullable(boolean), message);

const zdr = (whose: string): Shape =>
  choice(`True: models of ${whose} may be asked only at providers that keep nothing.`);

const author = { form: /^[a-z0-9][a-z0-9._-]{0,63}$/, message: "must be the author of models, as in their slugs" };

const groups = map(boolean, {
  max: 100,
  key: {
    check: (key, path, problems) => {
      if (!author.form.test(key)) problems.add(path, author.message);
    },
    schema: { type: "string", pattern: author.form.source },
  },
});

/** Every field of a routing policy, in the order in which they are shown. */
export const routingPolicyFields: ObjectShape["fields"] = {
  allowed_models: slugs("Slugs of models: no other may be asked."),
  ignored_models: slugs("Slugs of models that may not be asked."),
  allowed_providers: slugs("Slugs of providers, as in `provider.only` of a request: no other may be asked."),
  ignored_providers: slugs("Slugs of providers that may not be asked."),
  enforce_zdr_anthropic: zdr("anthropic"),
  enforce_zdr_openai: zdr("openai"),
  enforce_zdr_google: zdr("google"),
  enforce_zdr_xai: zdr("x-ai"),
  enforce_zdr_other: zdr("all other authors"),
  enforce_zdr_groups: described(
    nullable(groups),
    "The same by any author, which is what stands before the slash of a slug; `other` are all but the four above.",
  ),
  enable_paid_model_training: choice(
    "False: no endpoint that costs something at a provider that is not known not to train on what it is sent.",
  ),
  enable_free_model_training: choice("False: the same of endpoints that cost nothing."),
  enable_free_model_publication: choice(
    "False: no endpoint that costs nothing at a provider that is not known not to publish what it is sent.",
  ),
  allowed_data_regions: described(
    nullable(array(word("global", "europe", "us"), { min: 1, max: 3 })),
    "Where providers have to be; global is anywhere.",
  ),
};

/** Short form for the five fields on zero data retention by model author; accepted in requests and never stored. */
export const enforceZdrField = deprecated(choice("Short for the five fields by author that follow; out of use."));
const five = ["anthropic", "openai", "google", "xai", "other"].map((name) => `enforce_zdr_${name}`);

/** Replaces `enforce_zdr` by its five fields. */
export function expandEnforceZdr({ enforce_zdr: every, ...rest }: RoutingPolicyChange): RoutingPolicyChange {
  if (every === undefined) return rest;
  return { ...Object.fromEntries(five.map((field) => [field, every])), ...rest };
}

/** The common value of the five fields; null when they differ. */
const common = (json: RoutingPolicyJson): boolean | null => {
  const [first, ...others] = five.map((field) => json[field] ?? null);
  return typeof first === "boolean" && others.every((value) => value === first) ? first : null;
};

/** Converts a policy to its JSON in answers, with every field. */
export const toRoutingPolicyJson = (policy: RoutingPolicy | undefined): JsonObject => {
  const json = toStoredRoutingPolicyJson(policy);
  const fields = Object.keys(routingPolicyFields).map((field) => [field, json[field] ?? null]);
  return { ...(Object.fromEntries(fields) as JsonObject), enforce_zdr: common(json) };
};

/** Converts a policy to JSON without empty fields. */
export const toStoredRoutingPolicyJson = (policy: RoutingPolicy | undefined): RoutingPolicyJson =>
  policy ? (toJson(RoutingPolicySchema, policy, { useProtoFieldName: true }) as RoutingPolicyJson) : {};

/** Converts checked fields to a message; null fields are left out. */
export const parseRoutingPolicy = (json: RoutingPolicyChange): RoutingPolicy => fromJson(RoutingPolicySchema, json);
