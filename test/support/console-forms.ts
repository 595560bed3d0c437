/** The modules of the console's forms, in a document without a browser. */
import { join } from "node:path";
import { parseHTML } from "linkedom";
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import { root, runProgram } from "./processes.ts";

export type Values = Readonly<Record<string, unknown>>;

export interface FormField {
  readonly name: string;
  readonly kind: string;
  readonly schema: JsonSchema;
  readonly clears: boolean;
}

export interface Form {
  readonly fields: readonly FormField[];
  readonly needs: Readonly<Record<string, string>>;
}

/** Exports of `gateway/console/forms` for the tests. */
interface FormModules {
  readonly records: Readonly<Record<string, JsonSchema>>;
  readonly guardrailForm: Form;
  readonly keyForm: Form;
  readonly workspaceForm: Form;
  readonly endUserForm: Form;
  readonly valuesOf: (form: Form, record: Values | undefined) => Values;
  readonly withEdit: (form: Form, before: Values, edits: Values, name: string, value: unknown) => Values;
  readonly RecordFields: unknown;
  readonly h: (component: unknown, props: object) => unknown;
  readonly render: (node: unknown, parent: unknown) => void;
}

/** Bundles the modules in another process, whose native code does not fit into Jest. */
export async function loadForms(): Promise<FormModules> {
  const console = join(root, "gateway/console");
  const modules = ["gen/records", "forms/records", "forms/edits", "forms/record-fields"];
  const files = modules.map((name) => join(console, name + (name === "forms/record-fields" ? ".tsx" : ".ts")));
  const entry = [
    ...files.map((file) => `export * from ${JSON.stringify(file)};`),
    'export { h, render } from "preact";',
  ];
  const program = `
    import { rolldown } from "rolldown";
    import { writeRecords } from ${JSON.stringify(join(console, "build.mjs"))};
    await writeRecords();
    const id = ${JSON.stringify(join(console, "entry.ts"))};
    const plugin = { name: "entry", resolveId: (name) => (name === id ? id : null), load: (name) => (name === id ? ${JSON.stringify(entry.join("\n"))} : null) };
    const build = await rolldown({ input: id, plugins: [plugin] });
    const { output } = await build.generate({ format: "esm" });
    process.stdout.write(output[0].code);`;
  const { code, stdout, stderr } = await runProgram(process.execPath, ["--input-type=module", "--eval", program]);
  if (code !== 0) throw new Error(stderr);
  return (await import(`data:text/javascript,${encodeURIComponent(stdout)}`)) as FormModules;
}

/** A control of a drawn form, with which a test reads and changes a value. */
export interface Control {
  readonly name: string;
  readonly isChoice: boolean;
  readonly element: { value: string; checked: boolean };
}

/** A form on a page. */
export interface Drawn {
  readonly controls: () => readonly Control[];
  /** Dispatches the event of a person who has used a control. */
  readonly use: (control: Control) => Promise<void>;
  readonly edits: () => Values;
}

/** @param record the record to edit */
export function drawForm(modules: FormModules, form: Form, record: Values): Drawn {
  const { document, Event } = openDocument();
  const before = modules.valuesOf(form, record);
  let edits: Values = {};
  const onEdits = (next: Values) => {
    edits = next;
    draw();
  };
  const draw = () =>
    modules.render(modules.h(modules.RecordFields, { form, before, edits, onEdits }), document.body as unknown);
  draw();
  return {
    controls: () =>
      [...document.querySelectorAll("input, select, textarea")].map((element) =>
        controlOf(document, element as unknown as FormElement),
      ),
    use: async ({ element, isChoice }) => {
      (element as unknown as EventTarget).dispatchEvent(new Event(isChoice ? "change" : "input", { bubbles: true }));
      // Preact draws again in a microtask.
      await Promise.resolve();
    },
    edits: () => edits,
  };
}

type Page = ReturnType<typeof parseHTML>;

/** The part of an element that tests read. */
interface FormElement {
  readonly id: string;
  readonly localName: string;
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
  closest(selector: string): FormElement | null;
}

function controlOf(document: Page["document"], element: FormElement): Control {
  const own = element.id === "" ? null : (document.querySelector(`label[for="${element.id}"]`) as FormElement | null);
  const label = own ?? element.closest("label");
  return {
    name: element.getAttribute("aria-label") ?? label?.textContent ?? "",
    isChoice: element.localName === "select" || element.getAttribute("type") === "checkbox",
    element: element as unknown as Control["element"],
  };
}

/** A document whose controls have a state, which the library leaves out. */
function openDocument(): Page {
  const page = parseHTML("<html><body></body></html>");
  const { HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement, document } = page;
  for (const { prototype } of [HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement]) {
    Object.assign(prototype, { setCustomValidity: () => {} });
  }
  keepState(HTMLInputElement.prototype, "checked");
  keepState(HTMLSelectElement.prototype, "value");
  Object.assign(globalThis, { document });
  return page;
}

function keepState(prototype: object, name: string): void {
  const states = new WeakMap<object, unknown>();
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: object) {
      return states.get(this);
    },
    set(this: object, state: unknown) {
      states.set(this, state);
    },
  });
}
