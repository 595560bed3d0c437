/** The settings of a key in a form. */
import type { Schemas } from "../api/client.ts";
import { hasRole } from "../api/session.ts";
import { SelectField, TextField } from "../parts/field.tsx";
import type { Guardrail } from "../guardrails/data.ts";
import type { Key } from "./data.ts";

/** Texts of the fields; an empty text means unset. */
export interface KeyDraft {
  readonly name: string;
  readonly limit: string;
  readonly reset: string;
  readonly expires: string;
  readonly guardrail: string;
  readonly requests: string;
  readonly tokens: string;
  readonly concurrent: string;
  readonly user: string;
  /** `captured` where prompts and answers are stored. */
  readonly content: string;
}

export const emptyDraft: KeyDraft = {
  name: "",
  limit: "",
  reset: "",
  expires: "",
  guardrail: "",
  requests: "",
  tokens: "",
  concurrent: "",
  user: "",
  content: "",
};

export const toKeyDraft = (key: Key, guardrail: string | undefined): KeyDraft => ({
  name: key.name ?? "",
  limit: text(key.limit),
  reset: key.limit_reset ?? "",
  expires: key.expires_at ? localTime(new Date(key.expires_at)) : "",
  guardrail: guardrail ?? "",
  requests: text(key.requests_per_minute),
  tokens: text(key.tokens_per_minute),
  concurrent: text(key.concurrent_requests),
  user: key.external_user ?? "",
  content: key.capture_content ? "captured" : "",
});

const text = (value: number | null | undefined): string => (value === null || value === undefined ? "" : String(value));

/** For a datetime-local field, in the browser's time zone. */
const localTime = (time: Date): string =>
  new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

type KeySettings = Omit<Schemas["KeyChange"], "disabled" | "name" | "external"> & {
  readonly name: string;
  readonly external: { readonly user: string } | null;
};

/** The draft in the API's form; null for an empty field. */
export const toKeySettings = (draft: KeyDraft): KeySettings => ({
  name: draft.name.trim(),
  limit: number(draft.limit),
  limit_reset: draft.limit === "" || draft.reset === "" ? null : (draft.reset as "daily" | "weekly" | "monthly"),
  expires_at: draft.expires === "" ? null : new Date(draft.expires).toISOString(),
  requests_per_minute: number(draft.requests),
  tokens_per_minute: number(draft.tokens),
  concurrent_requests: number(draft.concurrent),
  external: draft.user.trim() === "" ? null : { user: draft.user.trim() },
  capture_content: draft.content === "captured",
});

const number = (value: string): number | null => (value.trim() === "" ? null : Number(value));

interface SettingsProps {
  readonly draft: KeyDraft;
  readonly onDraft: (draft: KeyDraft) => void;
  readonly guardrails: readonly Guardrail[];
}

export function KeySettingFields({ draft, onDraft, guardrails }: SettingsProps) {
  const bind = (name: keyof KeyDraft) => ({
    value: draft[name],
    onValue: (value: string) => onDraft({ ...draft, [name]: value }),
  });
  const names = guardrails.map(({ id, name }) => [id, name] as const);
  return (
    <>
      <TextField label="Name" required maxLength={200} placeholder="billing-service" {...bind("name")} />
      <div class="pair">
        <TextField label="Budget in USD" hint="Empty: any amount" type="number" min="0" step="any" {...bind("limit")} />
        <SelectField label="Budget begins anew" options={resets} {...bind("reset")} />
      </div>
      <div class="pair">
        <TextField label="Expires" hint="Empty: never" type="datetime-local" {...bind("expires")} />
        <SelectField
          label="Guardrail"
          options={[["", "None of its own"], ...names]}
          disabled={!hasRole("admin")}
          {...bind("guardrail")}
        />
      </div>
      <details class="more">
        <summary>Rate limits, end user and content</summary>
        <div class="form">
          <div class="pair">
            <TextField label="Requests a minute" type="number" min="1" {...bind("requests")} />
            <TextField label="Tokens a minute" type="number" min="1" {...bind("tokens")} />
            <TextField label="Requests at a time" type="number" min="1" {...bind("concurrent")} />
          </div>
          <TextField label="End user" hint="The person or system that the key is for" {...bind("user")} />
          <SelectField
            label="Prompts and answers"
            hint="Stored encrypted, for a while, where the configuration file has capture.key"
            options={contents}
            {...bind("content")}
          />
        </div>
      </details>
    </>
  );
}

const contents = [
  ["", "Not stored"],
  ["captured", "Stored"],
] as const;

const resets = [
  ["", "Never"],
  ["daily", "Every day"],
  ["weekly", "Every Monday"],
  ["monthly", "On the first of the month"],
] as const;
