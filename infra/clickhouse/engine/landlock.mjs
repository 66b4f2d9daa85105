/**
 * Landlock of Linux: this thread, and each thread and process that it starts from then on, gives up files and TCP ports for good.
 * Plain JavaScript, for the process of the engine.
 */
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { DataType, load, open } from 'ffi-rs'

// Numbers of <linux/landlock.h> and of its three system calls, which are the same on all processors.
const CREATE_RULESET = 444
const ADD_RULE = 445
const RESTRICT_SELF = 446
const READ_VERSION = 1
const RULE_OF_PATH = 1
const RULE_OF_PORT = 2
const PR_SET_NO_NEW_PRIVS = 38

const bit = (position) => 2 ** position
const READ = bit(2) | bit(3)
const WRITE = bit(1) | bit(14)
/** Entries of folders: files are removed and made; then folders and symbolic links too, and renames from folder to folder. */
const FILES = bit(3) | bit(5) | bit(8)
const ENTRIES = FILES | bit(4) | bit(7) | bit(12) | bit(13)
/** The rights that a file itself may have. */
const OF_FILE = bit(1) | bit(2) | bit(14)
const LISTEN = bit(0)
const CONNECT = bit(1)

/** Linux 5.19: the first that allows renames from folder to folder, which the engine needs. */
const MIN_VERSION = 2
const MIN_VERSION_OF_TCP = 4
/** How many kinds of access to files a version knows; all of them are refused but where a rule allows them. */
const kindsIn = (version) => (version < 3 ? 14 : version < 5 ? 15 : 16)

/**
 * Leaves the calling thread what is allowed. It opens no other file, runs no program and, from version 4 (Linux 6.7) on, uses no other TCP port.
 * Paths are files, or folders with all below them; one that does not exist is left out. Files under `append` are written, never read.
 * Returns the version of the kernel's Landlock, or 0 where it has none that serves: then nothing is restricted. Throws where the kernel refuses a step.
 */
export function restrict({ read, append, change, listen, connect }) {
  if (process.platform !== 'linux') return 0
  open({ library: 'self', path: '' })
  const version = call('syscall', CREATE_RULESET, 0, 0, READ_VERSION).value
  if (version < MIN_VERSION) return 0
  const handled = bit(kindsIn(version)) - 1
  const tcp = version >= MIN_VERSION_OF_TCP
  const attributes = tcp ? words(handled, LISTEN | CONNECT) : words(handled)
  const ruleset = step('syscall', CREATE_RULESET, attributes, attributes.length, 0)
  for (const path of read) allow(path, READ)
  for (const path of append) allow(path, WRITE | FILES)
  for (const path of change) allow(path, READ | WRITE | ENTRIES)
  if (tcp) {
    for (const port of listen) step('syscall', ADD_RULE, ruleset, RULE_OF_PORT, words(LISTEN, port), 0)
    for (const port of connect) step('syscall', ADD_RULE, ruleset, RULE_OF_PORT, words(CONNECT, port), 0)
  }
  // Required of a process without privileges.
  step('prctl', PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
  step('syscall', RESTRICT_SELF, ruleset, 0)
  closeSync(ruleset)
  return version

  function allow(path, rights) {
    if (!existsSync(path)) return
    // Stays open: a rule is of an inode, and a file of /proc has another one after the kernel has dropped it from its cache.
    const descriptor = openSync(path)
    const ofKind = statSync(path).isDirectory() ? rights : rights & OF_FILE
    // Packed: 64 bits, then 32.
    const rule = words(ofKind & handled, descriptor).subarray(0, 12)
    step('syscall', ADD_RULE, ruleset, RULE_OF_PATH, rule, 0)
  }
}

/** 64 bits each, as the kernel reads them. */
function words(...values) {
  const buffer = Buffer.alloc(8 * values.length)
  for (const [index, value] of values.entries()) buffer.writeBigUInt64LE(BigInt(value), 8 * index)
  return buffer
}

function step(funcName, ...values) {
  const { value, errnoMessage } = call(funcName, ...values)
  if (value < 0) throw new Error(`Landlock could not restrict the process of the engine: ${errnoMessage}`)
  return value
}

function call(funcName, ...paramsValue) {
  const paramsType = paramsValue.map((value) => (typeof value === 'number' ? DataType.I64 : DataType.U8Array))
  return load({ library: 'self', funcName, retType: DataType.I64, paramsType, paramsValue, errno: true })
}
