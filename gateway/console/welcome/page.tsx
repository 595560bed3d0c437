/** The welcome page: four first steps, each ticked once it is done, on this page or elsewhere. */
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { Icon } from "../parts/icon.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Show } from "../parts/state.tsx";
import { type Progress, isComplete, loadProgress } from "./data.ts";
import { beginWelcome, endWelcome } from "./landing.ts";
import { BudgetStep, GuardrailStep, ProviderStep, RequestStep } from "./steps.tsx";

export function WelcomePage() {
  const progress = useLoad(loadProgress);
  const { route } = useLocation();
  const isOver = progress.data !== undefined && isComplete(progress.data);
  useEffect(beginWelcome, []);
  useEffect(() => {
    if (isOver) endWelcome();
  }, [isOver]);
  const leave = () => {
    endWelcome();
    route("/console");
  };
  const dismiss = (
    <button type="button" class="button" onClick={leave}>
      {isOver ? "To the overview" : "Dismiss"}
    </button>
  );
  return (
    <Page title="Welcome" lead="Four steps to a gateway that your applications can use." actions={dismiss}>
      <Show of={progress} lines={8}>
        {(done) => <Steps done={done} onDone={progress.reload} />}
      </Show>
    </Page>
  );
}

const Steps = ({ done, onDone }: { done: Progress; onDone: () => Promise<void> }) => (
  <>
    <Step number={1} title="A provider" isDone={done.provider} more="/console/providers">
      <ProviderStep onDone={onDone} />
    </Step>
    <Step number={2} title="A first request" isDone={done.request} more="/console/explorer?tab=requests">
      <RequestStep onDone={onDone} />
    </Step>
    <Step number={3} title="A budget" isDone={done.budget} more="/console/workspaces">
      <BudgetStep onDone={onDone} />
    </Step>
    <Step number={4} title="A guardrail" isDone={done.guardrail} more="/console/guardrails">
      <GuardrailStep onDone={onDone} />
    </Step>
    {isComplete(done) && <p role="status">All four steps are done.</p>}
  </>
);

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  /** Path of the page that shows the result of the step. */
  readonly more: string;
  readonly children: ComponentChildren;
}

const Step = ({ number, title, isDone, more, children }: StepProps) => (
  <Card
    title={`${number}. ${title}`}
    aside={
      isDone && (
        <span class="badge good">
          <Icon name="check" size={14} /> Done
        </span>
      )
    }
  >
    {isDone ? <a href={more}>Show</a> : children}
  </Card>
);
