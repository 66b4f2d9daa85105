/** Help texts of the commands: `--help` prints them before the environment is read, and invalid arguments print the usage. */

import { type ParseArgsConfig, parseArgs } from 'node:util'
import { parseTime } from '../../api/query/time.ts'
import { asTyped } from '../../ingest/lib/as-typed.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/model/network.ts'
import { endWithoutReader } from '../lib/broken-pipe.ts'
import { printLine } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'

export type Help = {
  /** One sentence. */
  does: string
  /** Each way to call it, after `Usage:`. */
  usage: readonly string[]
  options?: readonly (readonly [option: string, meaning: string])[]
  examples: readonly string[]
}

/** The lines that follow a complaint about the arguments. */
export function usageOf({ usage }: Help): string {
  return asTyped(usage.map((line, index) => `${index === 0 ? 'Usage: ' : '       '}${line}`).join('\n'))
}

/** Returns the result of `read`. `--help` exits with 0; a UsageError prints its message and exits with 1. */
export function commandLine<Request>(help: Help, read: () => Request): Request {
  endWithoutReader()
  if (process.argv.slice(2).some((it) => it === '--help' || it === '-h')) {
    printLine(textOf(help))
    process.exit(0)
  }
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    printLine(error.message, process.stderr)
    process.exit(1)
  }
}

/** For commands without arguments: their settings are environment variables. */
export function withoutArguments(help: Help): void {
  commandLine(help, () => {
    const [first] = process.argv.slice(2)
    if (first !== undefined) throw new UsageError(`There is no option ${first}.\n${usageOf(help)}`)
  })
}

/** Turns errors of Node's `parseArgs` into usage errors, without its advice on positional arguments. */
export function parsed<Values>(help: Help, parse: () => Values): Values {
  try {
    return parse()
  } catch (error) {
    if (error instanceof UsageError) throw error
    const [message = ''] = (error as Error).message.split('. To specify')
    throw new UsageError(`${message}\n${usageOf(help)}`)
  }
}

/** Options of a command without positional arguments. */
export function optionsOf<const Options extends NonNullable<ParseArgsConfig['options']>>(
  help: Help,
  options: Options,
  args?: string[],
) {
  return parsed(help, () => parseArgs({ args, options, allowPositionals: false }).values)
}

/** The one positional argument of a command without options. */
export function positionalOf(help: Help): string | undefined {
  const [name, second] = parsed(help, () => parseArgs({ options: {}, allowPositionals: true }).positionals)
  if (second !== undefined) throw new UsageError(`There is one NAME, and no ${second}.\n${usageOf(help)}`)
  return name
}

export function networkOf(help: Help, name: string | undefined): NetworkName {
  const network = NETWORK_NAMES.find((it) => it === name)
  if (network) return network
  throw new UsageError(`--network is none of ${NETWORK_NAMES.join(', ')}\n${usageOf(help)}`)
}

function textOf(help: Help): string {
  const { does, options = [], examples } = help
  const all = [...options, ['--help', 'shows this'] as const]
  const width = Math.max(...all.map(([option]) => option.length))
  return [
    usageOf(help),
    '',
    asTyped(does),
    '',
    'Options:',
    ...all.map(([option, meaning]) => `  ${option.padEnd(width)}  ${meaning}`),
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((it) => `  ${asTyped(it)}`),
  ].join('\n')
}

/** A time of the command line, in whole seconds. */
export function secondOf(help: Help, name: string, text: string | undefined): UnixSeconds | undefined {
  if (text === undefined) return undefined
  const time = parseTime(text)
  if (time === undefined)
    throw new UsageError(`${name} is not a time: 2024-01-05 or 2024-01-05T00:00:00Z\n${usageOf(help)}`)
  return time.seconds
}
