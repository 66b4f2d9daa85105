/** The operations beside the four, as parts of the API document. */
import { DEPTH_API } from './depth/operation.ts'
import { POOL_LISTS_API } from './pool-lists/operation.ts'

export const ADDED_APIS = [DEPTH_API, POOL_LISTS_API] as const
