/** Stages report typed facts; infra alone turns facts into log lines and metrics. */
export type Report<Fact> = (fact: Fact) => void
