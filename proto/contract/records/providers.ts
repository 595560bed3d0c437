/**
 * Shapes of configured providers. Their settings are those of the configuration file, and their shapes are derived from
 * its schema.
 */
import { z } from "zod";
import { provider, storableDialects } from "../../config/provider.ts";
import { catalogueVendors } from "../../config/vendors.ts";
import { zodProblems } from "../../lib/process/environment.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { deleted, time } from "./record-shapes.ts";
import {
  type JsonSchema,
  type Shape,
  array,
  described,
  integer,
  map,
  anyValue,
  named,
  nullable,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";

const models = z
  .array(z.union([z.string().min(1), z.record(z.string(), z.unknown())]))
  .max(1_000)
  .describe(
    "Models that it serves: entries of `models` as in the configuration file, whose endpoints are those of this provider, or names of models at the provider, whose slugs begin with its id.",
  );

/**
 * Settings of a provider in the database. Identities of the machine, and settings that affect more than the provider,
 * are reserved for the configuration file.
 */
const settings = provider
  .omit({ aws: true, google: true, azure: true, trace_context: true })
  .extend({
    id: z
      .string()
      .regex(/^[A-Za-z0-9][\w.-]{0,99}$/, "1 to 100 letters, digits and . _ -")
      .describe("Name that endpoints use for the provider."),
    dialect: z
      .enum(storableDialects, {
        error: ({ input }) =>
          provider.shape.dialect.safeParse(input).success
            ? `${String(input).slice(0, 64)} is only for providers of the configuration file`
            : `must be one of ${storableDialects.join(", ")}`,
      })
      .describe("Wire format of the provider."),
    extra_body: z.record(z.string(), z.unknown()).describe(String(provider.shape.extra_body.description)),
    vendor: z.enum(catalogueVendors).describe(String(provider.shape.vendor.description)),
    models,
  })
  .partial();

const { id: _, ...changeable } = settings.shape;

const nullableFields = Object.fromEntries(
  Object.entries(changeable).map(([name, shape]) => [name, shape.nullable().describe(String(shape.description))]),
);

/** Removes names of formats from the schema, so a validator that does not know them accepts the document too. */
const override = ({ jsonSchema }: { readonly jsonSchema: { format?: string | undefined } }): void => {
  delete jsonSchema.format;
};

const fromZod = (schema: z.ZodType): Shape<JsonObject> => ({
  check: (value, path, problems) => {
    const result = schema.safeParse(value);
    if (result.success) return;
    for (const problem of zodProblems(result.error)) {
      const [, place = "", message = problem] = /^([\w.]+): (.*)$/s.exec(problem) ?? [];
      const at = [path, place].filter((part) => part !== "").join(".");
      problems.add(at === "" ? "body" : at, message);
    }
  },
  schema: () => {
    const { $schema: _, ...printed } = z.toJSONSchema(schema, { io: "input", override }) as JsonSchema;
    return printed;
  },
});

const note =
  "An entry of `providers` as in the configuration file, with its models. Texts are taken as they are: nothing stands for a variable or a file.";

export const newProvider = named(
  "NewProvider",
  described(
    fromZod(settings.required({ id: true })),
    `${note} Without \`vendor\`, \`dialect\` and \`base_url\` are required.`,
  ),
);

export const providerChange = named(
  "ProviderChange",
  described(
    fromZod(z.strictObject(nullableFields)),
    `${note} What it lacks stays, keys too; null removes a setting. Another origin of base_url, another vendor or dialect requires api_keys.`,
  ),
);

const fields = {
  id: described(string({ min: 1 }), "Id of the provider."),
  source: described(
    word("file", "database"),
    "Where it is configured. Where both name an id, that of the file is in force.",
  ),
  problem: described(nullable(string()), "Why it serves nothing, as a clause; null for one in force."),
  models: described(integer({ min: 0 }), "Number of models that it serves."),
  api_key_ends: described(
    array(string()),
    "The last four characters of each API key of a provider in the database; an empty text for a key of fewer than twelve.",
  ),
  settings: described(
    map(anyValue),
    "Its settings as in the configuration file, without keys. Of one in the file: name, dialect, base_url, vendor and region.",
  ),
  created_at: described(nullable(time), "Time of creation; null for one in the file."),
  updated_at: described(nullable(time), "Time of the last change; null for one in the file."),
};

const configuredProvider = named(
  "ConfiguredProvider",
  object(fields, { required: Object.keys(fields) as (keyof typeof fields)[] }),
);

export const configuredProviderList = named(
  "ConfiguredProviderList",
  object({ data: array(configuredProvider) }, { required: ["data"] }),
);

export const configuredProviderAnswer = named(
  "ConfiguredProviderAnswer",
  object({ data: configuredProvider }, { required: ["data"] }),
);

const server = {
  id: described(string({ min: 1 }), "Suggested id of a provider: ollama, vllm, lmstudio or llama-cpp."),
  name: described(string(), "Name of the program."),
  base_url: described(string(), "Address of a provider of the dialect `chat`."),
  models: described(array(string()), "Names of its models for chat, at most 1,000."),
  provider: described(nullable(string()), "Id of the provider that has this address already; null without one."),
};

export const localServerList = named(
  "LocalServerList",
  object(
    {
      data: array(named("LocalServer", object(server, { required: Object.keys(server) as (keyof typeof server)[] }))),
    },
    { required: ["data"] },
  ),
);

export const deletedProvider = named("DeletedProvider", deleted);
