/** The console: sign-in, or the shell with the current page. */
import { LocationProvider, Route, Router } from "preact-iso";
import { AuditPage } from "./audit/page.tsx";
import { session } from "./api/session.ts";
import { AlertsPage } from "./alerts/page.tsx";
import { EndUsersPage } from "./end-users/page.tsx";
import { FormerPage } from "./explorer/former.tsx";
import { ExplorerPage } from "./explorer/page.tsx";
import { GuardrailsPage } from "./guardrails/page.tsx";
import { HealthPage } from "./health/page.tsx";
import { KeysPage } from "./keys/page.tsx";
import { LivePage } from "./live/page.tsx";
import { ModelsPage } from "./models/page.tsx";
import { OverviewPage } from "./overview/page.tsx";
import { Toast } from "./parts/toast.tsx";
import { PlaygroundPage } from "./playground/page.tsx";
import { ProvidersPage } from "./providers/page.tsx";
import { ConsoleReference } from "./reference/on-session.tsx";
import { RequestPage } from "./requests/page.tsx";
import { SessionsPage } from "./sessions/page.tsx";
import { SessionPage } from "./sessions/timeline.tsx";
import { Missing } from "./shell/missing.tsx";
import { Shell } from "./shell/shell.tsx";
import { SignIn } from "./sign-in/sign-in.tsx";
import { WelcomePage } from "./welcome/page.tsx";
import { WorkspacesPage } from "./workspaces/page.tsx";

export function App() {
  if (session.value === undefined) return null;
  if (session.value === null) return <SignIn />;
  return (
    <LocationProvider scope="/console">
      <Shell session={session.value}>
        <Router>
          <Route path="/console" component={OverviewPage} />
          <Route path="/console/welcome" component={WelcomePage} />
          <Route path="/console/explorer" component={ExplorerPage} />
          <Route path="/console/requests/:id" component={RequestPage} />
          <Route path="/console/sessions" component={SessionsPage} />
          <Route path="/console/sessions/:id" component={SessionPage} />
          <Route path="/console/usage" component={FormerPage} />
          <Route path="/console/calls" component={FormerPage} />
          <Route path="/console/health" component={HealthPage} />
          <Route path="/console/live" component={LivePage} />
          <Route path="/console/keys/:hash?" component={KeysPage} />
          <Route path="/console/guardrails/:id?" component={GuardrailsPage} />
          <Route path="/console/models" component={ModelsPage} />
          <Route path="/console/models/:author/:slug" component={ModelsPage} />
          <Route path="/console/providers" component={ProvidersPage} />
          <Route path="/console/end-users" component={EndUsersPage} />
          <Route path="/console/alerts" component={AlertsPage} />
          <Route path="/console/playground" component={PlaygroundPage} />
          <Route path="/console/audit" component={AuditPage} />
          <Route path="/console/workspaces" component={WorkspacesPage} />
          <Route path="/console/reference/:id?" component={ConsoleReference} />
          <Route default component={Missing} />
        </Router>
      </Shell>
      <Toast />
    </LocationProvider>
  );
}
