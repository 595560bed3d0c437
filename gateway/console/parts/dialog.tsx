/** Dialogs: the browser's own, with the focus kept inside and Escape to close. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import type { Role } from "@sluice/proto/lib/policy/role.js";
import { hasRole } from "../api/session.ts";
import { Failure } from "./state.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether the dialog is a panel at the side of the page, as for records. */
  readonly side?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, side = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} class={side ? "dialog side" : "dialog"} aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button
          type="button"
          class="button plain icon-only"
          aria-label="Close"
          onClick={() => element.current?.close()}
        >
          <Icon name="close" />
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface ActionProps {
  readonly label: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Role required for the form's action. */
  readonly needs?: Role;
}

interface FormProps extends ActionProps {
  /** The action of the form; after its success the form closes. */
  readonly act: () => Promise<unknown>;
  readonly onCancel?: () => void;
  readonly children?: ComponentChildren;
}

/** A form with one action. A failure is shown in the form. */
export function ActionForm({
  label,
  act,
  danger = false,
  disabled = false,
  needs = "viewer",
  onCancel,
  children,
}: FormProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await act();
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      {children}
      {error && <Failure error={error} />}
      {!hasRole(needs) && <p class="hint">This needs the role {needs}.</p>}
      <div class="form-foot">
        {onCancel && (
          <button type="button" class="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button
          type="submit"
          class={danger ? "button danger" : "button primary"}
          disabled={busy || disabled || !hasRole(needs)}
        >
          {busy ? "One moment…" : label}
        </button>
      </div>
    </form>
  );
}

interface ConfirmProps extends ActionProps {
  readonly title: string;
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export const Confirm = ({ title, onClose, act, children, ...action }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <ActionForm {...action} act={act} onCancel={onClose}>
      {children}
    </ActionForm>
  </Dialog>
);
