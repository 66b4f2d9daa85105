/**
 * The process of the embedded ClickHouse: calls the engine in chdb's library, which serves HTTP until standard input ends.
 * Plain JavaScript, so that it needs no loader; arguments: the library, the configuration file, the port; then the file of the users and, as JSON,
 * what the engine may open. Without these two it may open all that this account may.
 */
import { closeSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { DataType, isNullPointer, load, open } from 'ffi-rs'
import { restrict } from './landlock.mjs'

const [library, configFile, port, usersFile, allowance] = process.argv.slice(2)

// A service manager may signal the whole group; the engine has to outlive the process that writes to it.
// The handlers never run, because the call below blocks, but with them a signal does nothing.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)

const before = threads()
open({ library: 'engine', path: library })
// Threads that run already stay unrestricted: those of Node, which run nothing while this one is in the engine, and no other.
if (threads() !== before) throw new Error('The library of the engine has started a thread before it was called.')

const argv = [
  // With `local` after it the engine would end at once.
  'clickhouse',
  `--http_port=${port}`,
  // The second query ends when our parent closes the pipe or dies.
  `--query=SYSTEM START LISTEN HTTP; SELECT count() FROM file('-', 'LineAsString', 'line String')`,
  ...configuration(),
]

// The call has to stay on this thread: the engine refuses a stack that it does not know.
const result = call('chdb_query_cmdline', DataType.External, [DataType.I32, DataType.StringArray], [argv.length, argv])
// Some errors are printed by the engine, others only the result carries.
const error = call('chdb_result_error', DataType.External, [DataType.External], [result])
if (!isNullPointer(error)) {
  console.error(call('chdb_result_error', DataType.String, [DataType.External], [result]))
  process.exitCode = 1
}

/** Restricts this process, and gives the engine its two files, which hold credentials: they are out of its reach from then on. */
function configuration() {
  if (allowance === undefined) return [`--config-file=${configFile}`]
  const texts = [configFile, usersFile].map((file) => readFileSync(file))
  const version = restrict(JSON.parse(allowance))
  console.log(`Landlock ${version}`)
  const [config, users] = version === 0 ? [configFile, usersFile] : texts.map(readOnce)
  return [`--config-file=${config}`, '--', `--users_config=${users}`]
}

/** The path of a pipe that gives `content` to its first reader. A pipe holds 64 KiB; each of the files is less than a quarter of that. */
function readOnce(content) {
  open({ library: 'self', path: '' })
  const ends = Buffer.alloc(8)
  const made = load({
    library: 'self',
    funcName: 'pipe',
    retType: DataType.I32,
    paramsType: [DataType.U8Array],
    paramsValue: [ends],
  })
  if (made !== 0) throw new Error('There is no pipe for the configuration of the engine.')
  const writing = ends.readInt32LE(4)
  writeSync(writing, content)
  closeSync(writing)
  return `/dev/fd/${ends.readInt32LE(0)}`
}

function threads() {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0
}

function call(funcName, retType, paramsType, paramsValue) {
  return load({ library: 'engine', funcName, retType, paramsType, paramsValue })
}
