// Computes parities, and lost chunks from them.
//
// Reed-Solomon over GF(2^8), systematic, with Cauchy coefficients: parity j of k symbols is the
// sum of symbol i divided by (k + j) xor i, as in ISA-L's gf_gen_cauchy1_matrix (docs/protocol,
// 6.5). Symbols and parities lie in blocks' buffers; short ones are padded with zeros.
#pragma once

#include "transport/core/base/parity_code.h"
#include "transport/run/object/block_store.h"

namespace stage {

/// Computes `code.parities` parities in `parity_block`'s buffer. The covered blocks must be
/// resident.
void encode_parities(const core::ParityCode& code, BlockIndex parity_block, BlockStore& blocks);

/// Computes the symbols of `code.lost` in their blocks' buffers, from the others and the
/// parities of `code.with`. The bytes of a block that is not resident are arbitrary, and verify
/// refuses the result.
void reconstruct(const core::ParityCode& code, BlockIndex parity_block, BlockStore& blocks);

}  // namespace stage
