/** Shared by all entry points: read the environment, run until a signal, stop in order, print the cause of a failure. */

import type { Report } from '../../ingest/model/report.ts'
import { BadConfiguration } from '../config/bad-configuration.ts'
import { type Config, readConfig } from '../config/config.ts'
import { createRedactor } from '../config/secrets.ts'
import { continueWithoutReader } from '../lib/broken-pipe.ts'
import { printLine } from '../lib/output.ts'
import { describeError } from '../telemetry/describe-error.ts'
import type { Fact } from '../telemetry/fact.ts'
import type { Readiness } from '../telemetry/readiness.ts'
import { openTelemetry, type Telemetry } from '../telemetry/telemetry.ts'
import { isApiProcess, STOP_MESSAGE } from './api-processes.ts'
import { type Deployment, resolveDeployment } from './deployment.ts'
import { takenPort } from './ports.ts'

export type Run = {
  config: Config
  deployment: Deployment
  report: Report<Fact>
  readiness: Readiness
  /** Aborts at Ctrl-C or SIGTERM, or when a part has failed. */
  signal: AbortSignal
  /** Ends the run: everything stops in order, and the process exits with code 1. */
  fail(error: unknown): void
}

/** Longer than any orderly stop takes. */
const STOP_TIMEOUT_MS = 10_000
const PARENT_MS = 500

/** Runs `main`, which returns once it has stopped after the signal. */
export async function runProcess(main: (run: Run, telemetry: Telemetry) => Promise<void>): Promise<void> {
  continueWithoutReader()
  const stop = new AbortController()
  let failure: unknown
  let report: Report<Fact> = () => {}
  let hide = (text: string) => text
  let explain = (error: unknown) => describeError(error)
  const fail = (error: unknown) => {
    if (stop.signal.aborted) return
    failure = error
    stop.abort()
  }
  const exitWithin = (ms: number) => setTimeout(() => process.exit(1), ms).unref()
  const stopInOrder = (reason: string) => {
    if (stop.signal.aborted) return
    report({ kind: 'stopping', reason })
    stop.abort()
    exitWithin(STOP_TIMEOUT_MS)
  }
  // Node would print it as it is, with secrets, and end the process at once. It covers rejections that no code awaits.
  process.on('uncaughtException', (error) => {
    failure ??= error
    if (stop.signal.aborted) return
    stop.abort()
    exitWithin(STOP_TIMEOUT_MS)
  })
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      // Ctrl-C reaches all processes of a terminal, and the first of several API processes stops the others.
      if (isApiProcess() && (name === 'SIGINT' || stop.signal.aborted)) return
      // The second Ctrl-C exits at once.
      if (stop.signal.aborted) process.exit(130)
      stopInOrder(name)
    })
  }
  if (isApiProcess()) {
    process.on('message', (message) => {
      if (message === STOP_MESSAGE) stopInOrder('the first process stops')
    })
  }
  const parent = process.ppid
  try {
    const config = readConfig()
    // npm passes a signal to its shell alone, which ends and leaves this process to another parent.
    if (config.isRunByNpm) setInterval(() => process.ppid !== parent && stopInOrder('npm has ended'), PARENT_MS).unref()
    explain = (error) => takenPort(error, config) ?? hide(describeError(error))
    hide = createRedactor(config)
    const telemetry = openTelemetry(config)
    report = telemetry.report
    for (const near of config.nearNames) report({ kind: 'unknown-variable', ...near })
    const { readiness } = telemetry
    await main(
      { config, deployment: resolveDeployment(config), report, readiness, signal: stop.signal, fail },
      telemetry,
    )
  } catch (error) {
    if (!stop.signal.aborted) failure = error
  }
  if (failure !== undefined) {
    const text = failure instanceof BadConfiguration ? failure.message : explain(failure)
    printLine(text, process.stderr)
    process.exitCode = 1
  }
  // Open handles, such as a socket that is connecting, would keep the process alive.
  process.exit()
}
