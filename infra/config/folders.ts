/** Where things lie in DATA_DIR: the embedded engine's tables, one folder for real networks and one for each devnet chain. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hash } from 'viem'
import type { Network } from '../../ingest/model/network.ts'
import type { Config } from './config.ts'

type StoreLocation = Pick<Config, 'dataDir' | 'chain'>

/** The folder of the tables that the last `npm start` of this configuration used; undefined before the first start of a devnet. */
export async function currentStoreFolder({ dataDir, chain }: StoreLocation): Promise<string | undefined> {
  if (chain.kind === 'networks') return join(dataDir, 'store')
  const name = await readFile(devnetPointer(dataDir), 'utf8').catch(() => undefined)
  return name === undefined ? undefined : join(dataDir, name.trim())
}

/**
 * The tables of the devnet chain with this genesis. A devnet that lost its chain begins another one. Its blocks do not continue the stored
 * ones, so it gets new tables beside the old.
 */
export async function devnetStoreFolder(
  dataDir: string,
  genesis: Hash,
): Promise<{ folder: string; replaces: string | undefined }> {
  const name = `devnet-${genesis.slice(2, 10)}`
  const folder = join(dataDir, name)
  const before = await currentStoreFolder({ dataDir, chain: { kind: 'devnet' } })
  await mkdir(folder, { recursive: true })
  await writeFile(devnetPointer(dataDir), `${name}\n`)
  return { folder, replaces: before !== undefined && before !== folder && existsSync(before) ? before : undefined }
}

/** For commands beside `npm start`: a devnet's contracts have addresses of their own. */
export async function saveDevnetNetwork(storeFolder: string, network: Network): Promise<void> {
  await writeFile(join(storeFolder, NETWORK_FILE), JSON.stringify(network))
}

/** Undefined where no devnet has saved it. */
export async function savedDevnetNetwork(storeFolder: string): Promise<Network | undefined> {
  const text = await readFile(join(storeFolder, NETWORK_FILE), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Network)
}

const NETWORK_FILE = 'network.json'

function devnetPointer(dataDir: string): string {
  return join(dataDir, 'devnet-store')
}
