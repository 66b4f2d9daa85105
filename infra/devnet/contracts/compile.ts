/** Compiles the devnet's own contracts; run it to update `bytecode.json` after a change to a `.sol` file. */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Abi, Hex } from 'viem'

export const CONTRACTS = ['Desk', 'PlainToken', 'Bytes32Token', 'NoDecimalsToken', 'Mimic'] as const
export type ContractName = (typeof CONTRACTS)[number]
export type Bytecode = Record<ContractName, Hex>

export type CompiledContract = { abi: Abi; bytecode: Hex }

const SOURCES = ['Desk.sol', 'Tokens.sol', 'Mimic.sol'] as const
const BYTECODE_FILE = new URL('./bytecode.json', import.meta.url)

/** Compiling takes seconds, so the devnet starts from the file; a test holds that both are the same. */
export async function compileContracts(): Promise<Bytecode> {
  const compiled = await compileSolidity(SOURCES.map((file) => new URL(file, import.meta.url)))
  return Object.fromEntries(CONTRACTS.map((name) => [name, compiled[name]?.bytecode])) as Bytecode
}

/**
 * The contracts of some files by name. Throws where the compiler has as much as a warning about them. `readImport`: the text of a file that they import and
 * that is not among them.
 */
export async function compileSolidity(
  files: readonly URL[],
  readImport: (path: string) => string = () => '',
): Promise<Record<string, CompiledContract>> {
  // The compiler has no types of its own, and 9 MB that only this function should load.
  const { default: solc } = (await import('solc')) as unknown as { default: Solc }
  const sources = Object.fromEntries(
    files.map((file) => [basename(file.pathname), { content: readFileSync(file, 'utf8') }]),
  )
  const settings = {
    optimizer: { enabled: true, runs: 1000 },
    evmVersion: 'cancun',
    // No fingerprint of the source at the end: the same code gives the same bytes on every machine.
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
  }
  const input = JSON.stringify({ language: 'Solidity', sources, settings })
  const output = JSON.parse(solc.compile(input, { import: (path) => ({ contents: readImport(path) }) })) as SolcOutput
  const isOurs = ({ severity, sourceLocation: { file } = { file: '' } }: SolcProblem) =>
    severity === 'error' || Object.hasOwn(sources, file)
  const problems = (output.errors ?? []).filter(isOurs).map((error) => error.formattedMessage)
  if (problems.length > 0) throw new Error(`the contracts do not compile cleanly:\n${problems.join('\n')}`)
  const contracts = Object.values(output.contracts).flatMap((ofFile) => Object.entries(ofFile))
  return Object.fromEntries(
    contracts.map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` } as const]),
  )
}

export function readBytecode(): Bytecode {
  return JSON.parse(readFileSync(BYTECODE_FILE, 'utf8')) as Bytecode
}

type Solc = { compile(input: string, callbacks: { import(path: string): { contents: string } }): string }

type SolcProblem = { formattedMessage: string; severity: string; sourceLocation?: { file: string } }

type SolcOutput = {
  errors?: SolcProblem[]
  contracts: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(BYTECODE_FILE, `${JSON.stringify(await compileContracts(), null, 2)}\n`)
}
