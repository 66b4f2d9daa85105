/** Preloaded into a process whose clock steps: see clock.ts. Time that only runs forward, as `performance.now`, does not step. */
import { readFileSync } from 'node:fs'

const file = process.env.STEPPED_CLOCK_FILE
const RealDate = Date
let offset = 0

function look() {
  try {
    offset = Number(readFileSync(file, 'utf8'))
  } catch {
    // The file is gone when the test is.
  }
}

if (file) {
  look()
  setInterval(look, 100).unref()
  globalThis.Date = class extends RealDate {
    constructor(...values) {
      if (values.length === 0) super(RealDate.now() + offset)
      else super(...values)
    }
    static now() {
      return RealDate.now() + offset
    }
  }
}
