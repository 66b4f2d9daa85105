/** Preloaded into a process that may be killed: what it has reached is written again and again, as Node alone does it where a process ends. */
import { takeCoverage } from 'node:v8'

if (process.env.NODE_V8_COVERAGE) setInterval(takeCoverage, 10_000).unref()
