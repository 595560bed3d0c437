/** Sign-in with another service, or with a management key. The key is sent once and never stored: only a cookie remains, which scripts cannot read. */
import { useEffect, useState } from "preact/hooks";
import { signIn, signInReason, signInService, signInThroughService } from "../api/session.ts";
import { ActionForm } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Icon, Logo } from "../parts/icon.tsx";

export function SignIn() {
  const [key, setKey] = useState("");
  const note = signInReason.value;
  useEffect(() => {
    document.title = "Sign in · Sluice";
  }, []);
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Logo size={44} />
        <h1>Sign in to Sluice</h1>
        <p class="muted">See what is spent and what fails, and change who may do what.</p>
        {note !== "" && (
          <p class="note note-warn" role="alert">
            <Icon name="warning" />
            <span>{note}</span>
          </p>
        )}
        {signInService.value !== "" && (
          <ActionForm label={`Sign in with ${signInService.value}`} act={signInThroughService} />
        )}
        <ActionForm label="Sign in" act={() => signIn(key.trim())}>
          <TextField
            label="Management key"
            type="password"
            value={key}
            onValue={setKey}
            placeholder="mk-sl-…"
            required
            autofocus
            maxLength={200}
          />
        </ActionForm>
        <p class="sign-in-help">
          Sluice prints a management key when it starts for the first time; on the command line <code>keys create</code>{" "}
          <code>--management --name NAME</code> makes another. The key is not stored in this browser.
        </p>
      </div>
    </main>
  );
}
