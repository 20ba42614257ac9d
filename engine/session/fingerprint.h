#pragma once

#include "platform/sha.h"
#include "session/model_files.h"
#include "waste/result.h"

#include <cstdint>
#include <map>
#include <string>

namespace waste {

// CRC-32 of payload and scales of the resident tensors that the manifest states none for, by name.
using LoadedChecksums = std::map<std::string, std::uint32_t>;

// SHA-256 over everything that decides a model's numbers (spec: model 9.1): two conversions of one
// checkpoint have equal shapes and different fingerprints. `loaded` completes what the manifest lacks; it
// is not used for a checkpoint. Errors: Io, Corrupt.
Result<Sha256Digest> modelFingerprint(const detail::ModelFiles& files, const LoadedChecksums& loaded);

} // namespace waste
