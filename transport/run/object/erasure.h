// How are parities made, and lost chunks from them?
//
// Reed-Solomon over GF(2^8), systematic, Cauchy coefficients: parity j of k symbols is the sum
// of symbol i divided by (k + j) xor i, as ISA-L's gf_gen_cauchy1_matrix has it
// (docs/protocol, 6.5). Symbols and parities lie in blocks' buffers; what is short is filled
// with zeros.
#pragma once

#include "transport/core/base/parity_code.h"
#include "transport/run/object/block_store.h"

namespace stage {

/// Makes `code.parities` parities in `parity_block`'s buffer. The covered blocks are resident.
void encode_parities(const core::ParityCode& code, BlockIndex parity_block, BlockStore& blocks);

/// Makes the symbols of `code.lost` in their blocks' buffers, from the others and the parities
/// of `code.with`. What of it isn't resident is taken as it is: verify refuses the result.
void reconstruct(const core::ParityCode& code, BlockIndex parity_block, BlockStore& blocks);

}  // namespace stage
