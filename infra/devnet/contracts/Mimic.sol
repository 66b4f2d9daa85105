// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Balances} from "Tokens.sol";

/// @title A contract that answers as it was told, as anybody's may: a token with a strange name, or what only looks like a pool.
contract Mimic is Balances {
    enum Manner {
        Answer,
        Revert,
        BurnGas,
        /// Returns as many zeros as the gas allows, and lets the caller pay for copying them.
        Flood
    }

    struct Reply {
        bytes4 selector;
        Manner manner;
        /// What it answers or reverts with, byte by byte.
        bytes data;
    }

    event Swap(
        address indexed sender,
        address indexed recipient,
        int256 amount0,
        int256 amount1,
        uint160 sqrtPriceX96,
        uint128 liquidity,
        int24 tick
    );

    mapping(bytes4 selector => Reply) private replies;

    constructor(Reply[] memory told) {
        for (uint256 i = 0; i < told.length; i++) replies[told[i].selector] = told[i];
    }

    /// As a v3 pool would after a swap.
    function pretendSwap() external {
        emit Swap(msg.sender, msg.sender, 1e18, -1e18, 1 << 96, 1e18, 0);
    }

    fallback() external {
        Reply memory reply = replies[msg.sig];
        bytes memory data = reply.data;
        if (reply.selector == 0 || reply.manner == Manner.Revert) {
            assembly {
                revert(add(data, 32), mload(data))
            }
        }
        if (reply.manner == Manner.BurnGas) {
            assembly {
                invalid()
            }
        }
        if (reply.manner == Manner.Flood) {
            // Memory of w words costs w²/512: the words that half of the gas pays for.
            uint256 words = 1;
            while (words * words < gasleft() * 256) words *= 2;
            assembly {
                return(0, mul(div(words, 2), 32))
            }
        }
        assembly {
            return(add(data, 32), mload(data))
        }
    }
}
