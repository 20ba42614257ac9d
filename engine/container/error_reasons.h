#pragma once

#include "platform/direct_file.h"
#include "waste/result.h"

#include <string>
#include <string_view>
#include <utility>

namespace waste::reason {

// Error::reason of everything that is found wrong in a container (spec: container 13). The first four are
// what that table calls IO: the file may be whole elsewhere, a copy went wrong or a disk failed.
inline constexpr std::string_view kMissingFile = "missing_file";
inline constexpr std::string_view kShortFile = kShortFileReason; // found by reading, or by its size
inline constexpr std::string_view kRecordHeader = "record_header";
inline constexpr std::string_view kChecksum = "checksum";
// What the table calls FORMAT: these bytes were never right.
inline constexpr std::string_view kManifest = "manifest"; // not JSON, or a member of the wrong type or range
inline constexpr std::string_view kConfig = "config"; // config out of range
inline constexpr std::string_view kTensor = "tensor"; // a trunk entry, or a tensor that is missing
inline constexpr std::string_view kLayer = "layer"; // an entry of `layers`
inline constexpr std::string_view kCodebook = "codebook";
inline constexpr std::string_view kIndex = "index"; // an expert's index at or above `entries`
inline constexpr std::string_view kScale = "scale"; // a scale that is not finite
// With ErrorCode::Unsupported.
inline constexpr std::string_view kContainerVersion = "container_version"; // also FORMAT in the C interface
inline constexpr std::string_view kConfigKey = "config_key"; // a feature that this program lacks
inline constexpr std::string_view kArchitecture = "architecture";
inline constexpr std::string_view kTensorFormat = "tensor_format";
inline constexpr std::string_view kIndexBlock = "index_block";

constexpr bool isIo(std::string_view reason)
{
    return reason == kMissingFile || reason == kShortFile || reason == kRecordHeader || reason == kChecksum;
}

inline Error corrupt(std::string_view reason, std::string message)
{
    return {ErrorCode::Corrupt, std::string(reason), std::move(message)};
}

inline Error unsupported(std::string_view reason, std::string message)
{
    return {ErrorCode::Unsupported, std::string(reason), std::move(message)};
}

} // namespace waste::reason
