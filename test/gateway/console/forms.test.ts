/** The console's forms keep every record as it is, except for what a person edits. */
import { beforeAll, describe, expect, test } from "@jest/globals";
import { injectionSlug } from "@sluice/proto/contract/records/content-filters.js";
import { guardrailChange } from "@sluice/proto/contract/records/guardrails.js";
import { keyChange } from "@sluice/proto/contract/records/keys.js";
import { modelsName } from "@sluice/proto/contract/records/model-limits.js";
import { workspaceChange } from "@sluice/proto/contract/records/workspaces.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { type JsonSchema, type Shape, checkShape } from "@sluice/proto/lib/validation/shape.js";
import {
  type Control,
  type Drawn,
  type Form,
  type FormField,
  type Values,
  drawForm,
  loadForms,
} from "../../support/console-forms.js";
import fc from "../../support/properties.js";
import { arbitraryOf } from "../../support/schema-values.js";

type Modules = Awaited<ReturnType<typeof loadForms>>;

let modules: Modules;
beforeAll(async () => {
  modules = await loadForms();
});

interface Editable {
  readonly record: "Guardrail" | "Key" | "Workspace";
  readonly form: () => Form;
  readonly change: Shape & { readonly fields: Readonly<Record<string, Shape>> };
  /** Fields of a change without a control of their own in the form. */
  readonly withoutControl: readonly string[];
}

const editable: readonly Editable[] = [
  {
    record: "Guardrail",
    form: () => modules.guardrailForm,
    change: guardrailChange,
    withoutControl: ["enforce_zdr", "include_byok_in_budgets"],
  },
  {
    record: "Key",
    form: () => modules.keyForm,
    change: keyChange,
    withoutControl: ["disabled", "include_byok_in_limit"],
  },
  { record: "Workspace", form: () => modules.workspaceForm, change: workspaceChange, withoutControl: [] },
];

const recordsOf = (name: string) =>
  (arbitraryOf(modules.records[name] as JsonSchema) as fc.Arbitrary<Values>)
    .map(withOwnScopes)
    .map(withLimits)
    .map(withBudgets);

/** Removes entries of model limits without a limit, and those with the models of another: the service refuses them, and no schema can express that. */
function withLimits(values: Values): Values {
  const entries = values["model_limits"] as readonly Values[] | null | undefined;
  if (!entries) return values;
  const hasLimit = (entry: Values): boolean =>
    Object.entries(entry).some(([name, limit]) => name !== "models" && limit !== null);
  const limited = entries.filter(hasLimit);
  const distinct = new Map(limited.map((entry) => [modelsName(entry["models"] as readonly string[]), entry]));
  return { ...values, model_limits: distinct.size === 0 ? null : [...distinct.values()] };
}

/** Removes entries of budgets for tags with the value and the reset of another: the service refuses them, and no schema can express that. */
function withBudgets(values: Values): Values {
  const entries = values["tag_budgets"] as readonly Values[] | null | undefined;
  if (!entries) return values;
  const nameOf = (entry: Values) => JSON.stringify([entry["tag"], entry["value"], entry["limit_reset"] ?? null]);
  const distinct = new Map(entries.map((entry) => [nameOf(entry), entry]));
  return { ...values, tag_budgets: distinct.size === 0 ? null : [...distinct.values()] };
}

/** Removes the scopes of all detectors except prompt injection: the service refuses them, and no schema can express that. */
function withOwnScopes(values: Values): Values {
  const builtins = values["content_filter_builtins"] as readonly Values[] | null | undefined;
  if (!builtins) return values;
  const scoped = builtins.map(({ scan_scope: scope, ...entry }) =>
    entry["slug"] === injectionSlug && scope !== undefined ? { ...entry, scan_scope: scope } : entry,
  );
  return { ...values, content_filter_builtins: scoped };
}

function findControl(drawn: Drawn, name: string): Control {
  const found = drawn.controls().find((control) => control.name === name);
  if (!found)
    throw new Error(
      `no control ${name}: ${drawn
        .controls()
        .map((control) => control.name)
        .join(", ")}`,
    );
  return found;
}

async function enter(drawn: Drawn, name: string, value: string | boolean): Promise<void> {
  const control = findControl(drawn, name);
  if (typeof value === "boolean") control.element.checked = value;
  else control.element.value = value;
  await drawn.use(control);
}

describe.each(editable)("the form of a $record", ({ record, form, change, withoutControl }) => {
  test("has a field for each setting that can be changed", () => {
    const names = form().fields.map(({ name }) => name);
    expect([...names, ...withoutControl].toSorted()).toEqual(Object.keys(change.fields).toSorted());
  });

  test("sends no setting when none was edited, whatever the record holds", () =>
    fc.assert(
      fc.asyncProperty(recordsOf(record), async (values) => {
        const drawn = drawForm(modules, form(), values);
        for (const control of drawn.controls()) await drawn.use(control);
        expect(drawn.edits()).toEqual({});
      }),
      { numRuns: 10 },
    ));

  test("holds the values in the form that the API takes", () =>
    fc.assert(
      fc.property(recordsOf(record), (values) => {
        throwProblems((problems) => checkShape(change, modules.valuesOf(form(), values), "", problems));
      }),
    ));

  test("sends only the edited field, and none when the edit is undone", () =>
    fc.assert(
      fc.property(
        recordsOf(record).chain((values) => withEdit(form(), values)),
        ({ values, field, value }) => {
          const before = modules.valuesOf(form(), values);
          const edits = modules.withEdit(form(), before, {}, field.name, value);
          const cleared = value === null ? Object.keys(form().needs) : [];
          expect([field.name, ...cleared]).toEqual(expect.arrayContaining(Object.keys(edits)));
          const undone = modules.withEdit(form(), before, edits, field.name, before[field.name]);
          expect(Object.keys(undone)).not.toContain(field.name);
        },
      ),
    ));
});

/** A record, one of its fields, and a value for it. */
const withEdit = (form: Form, values: Values) =>
  fc.constantFrom(...form.fields).chain((field) => valueFor(field).map((value) => ({ values, field, value })));

const valueFor = ({ schema, clears }: FormField) =>
  clears ? fc.oneof(fc.constant(null), arbitraryOf(schema)) : arbitraryOf(schema);

const guardrail = {
  name: "shared",
  mode: "enforce",
  content_filter_builtins: [
    { slug: "regex-prompt-injection", action: "block", label: "[PROMPT_INJECTION]", scan_scope: "user_only" },
    { slug: "email", action: "redact", label: "[EMAIL]" },
  ],
  judge_rules: [
    { rule: "No prices", action: "block", threshold: 0.5, label: "first" },
    { rule: "No prices", action: "flag", threshold: 0.25, label: "second" },
  ],
  allowed_data_regions: ["global", "europe"],
  limit_usd: 5,
  reset_interval: "daily",
};

describe("an edit of a guardrail", () => {
  const [first, second] = guardrail.judge_rules;
  const [injection, email] = [
    { slug: "regex-prompt-injection", action: "block", scan_scope: "user_only" },
    { slug: "email", action: "redact" },
  ];

  test.each<readonly [what: string, control: string, value: string | boolean, edits: Values]>([
    ["a name", "Name", "other", { name: "other" }],
    ["a word", "Mode", "audit", { mode: "audit" }],
    ["a rule among equal ones", "Threshold of rule 1", "0.9", { judge_rules: [{ ...first, threshold: 0.9 }, second] }],
    ["one of a few words", "US", true, { allowed_data_regions: ["global", "europe", "us"] }],
    ["one less of a few words", "Europe", false, { allowed_data_regions: ["global"] }],
    ["an action", "Email", "block", { content_filter_builtins: [injection, { ...email, action: "block" }] }],
    ["a detector", "Email", "", { content_filter_builtins: [injection] }],
    ["a budget with its interval", "Budget of each key in USD", "", { limit_usd: null, reset_interval: null }],
    ["a list", "Allowed models", "a/b\n\n c/d ", { allowed_models: ["a/b", "c/d"] }],
  ])("changes %s", async (_, control, value, edits) => {
    const drawn = drawForm(modules, modules.guardrailForm, guardrail);
    await enter(drawn, control, value);
    expect(drawn.edits()).toEqual(edits);
  });

  test("does not send incomplete JSON", async () => {
    const drawn = drawForm(modules, modules.guardrailForm, guardrail);
    await enter(drawn, "Enforce ZDR groups", '{"mistralai":');
    expect(drawn.edits()).toEqual({});
    await enter(drawn, "Enforce ZDR groups", '{"mistralai":true}');
    expect(drawn.edits()).toEqual({ enforce_zdr_groups: { mistralai: true } });
  });
});

test("a new end user is sent with the given name", async () => {
  const drawn = drawForm(modules, modules.endUserForm, {});
  await enter(drawn, "Name", "mallory ");
  expect(drawn.edits()).toEqual({ user: "mallory" });
});

test("a key with an end user keeps the seconds of its expiry when it is edited", async () => {
  const key = { name: "a", expires_at: "2027-01-31T10:20:30.5Z", external_user: "mallory" };
  const drawn = drawForm(modules, modules.keyForm, key);
  await enter(drawn, "End user", "trent");
  expect(drawn.edits()).toEqual({ external: { user: "trent" } });
  await enter(drawn, "End user", "");
  expect(drawn.edits()).toEqual({ external: null });
});

describe("permissions in the form of a key", () => {
  const permissions = { models: ["acme/*"], plugins: [] };

  test("are lists of names: an absent list allows every name, an empty list none", async () => {
    const drawn = drawForm(modules, modules.keyForm, { name: "a", permissions });
    const choices = ["Models", "Plugins", "MCP servers", "Formats"];
    expect(choices.map((name) => findControl(drawn, name).element.value)).toEqual(["named", "named", "all", "all"]);
    await enter(drawn, "Names of models", "acme/*\n other/one ");
    expect(drawn.edits()).toEqual({ permissions: { models: ["acme/*", "other/one"], plugins: [] } });
    await enter(drawn, "MCP servers", "named");
    await enter(drawn, "Names of mcp servers", "wiki/search");
    await enter(drawn, "Plugins", "all");
    const lists = { models: ["acme/*", "other/one"], mcp_servers: ["wiki/search"] };
    expect(drawn.edits()).toEqual({ permissions: lists });
    await enter(drawn, "Models", "all");
    await enter(drawn, "MCP servers", "all");
    expect(drawn.edits()).toEqual({ permissions: null });
  });

  test("are unchanged when an edit is undone, and forbid every name with an empty list", async () => {
    const drawn = drawForm(modules, modules.keyForm, { name: "a", permissions });
    await enter(drawn, "Names of models", "");
    expect(drawn.edits()).toEqual({ permissions: { models: [], plugins: [] } });
    await enter(drawn, "Names of models", "acme/*");
    expect(drawn.edits()).toEqual({});
    await enter(drawn, "Formats", "named");
    await enter(drawn, "Formats", "all");
    expect(drawn.edits()).toEqual({});
  });
});
