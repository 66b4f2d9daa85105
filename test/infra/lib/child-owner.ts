/** A process that starts a child and waits: `tsx child-owner.ts <stop signal> <command> <args…>` prints the child's process id. */
import { startChild } from '../../../infra/lib/child.ts'

const [stopSignal, command = '', ...args] = process.argv.slice(2)
const child = startChild({
  command,
  args,
  stopSignal: stopSignal === 'end-of-input' ? 'end-of-input' : 'SIGTERM',
  graceMs: 500,
})
console.log(child.pid)
await child.exited
