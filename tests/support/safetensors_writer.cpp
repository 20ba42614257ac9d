#include "support/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <utility>

namespace waste::test {
namespace {

std::vector<std::byte> copyOf(const void* data, std::size_t bytes)
{
    const auto* first = static_cast<const std::byte*>(data);
    return {first, first + bytes};
}

std::uint16_t bfloat16(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

} // namespace

void SafetensorsWriter::add(
    const std::string& name, const std::string& type, std::vector<std::uint64_t> shape, std::vector<std::byte> bytes)
{
    m_tensors.push_back({name, type, std::move(shape), std::move(bytes)});
}

void SafetensorsWriter::addF32(const std::string& name, std::vector<std::uint64_t> shape, std::span<const float> values)
{
    add(name, "F32", std::move(shape), copyOf(values.data(), values.size_bytes()));
}

void SafetensorsWriter::addBf16(
    const std::string& name, std::vector<std::uint64_t> shape, std::span<const float> values)
{
    std::vector<std::uint16_t> halves;
    for (const float value : values)
        halves.push_back(bfloat16(value));
    add(name, "BF16", std::move(shape), copyOf(halves.data(), halves.size() * sizeof(std::uint16_t)));
}

std::vector<SafetensorsWriter> SafetensorsWriter::split(std::size_t count) const
{
    std::vector<Tensor> tensors = m_tensors;
    std::ranges::sort(tensors, {}, &Tensor::name);
    std::size_t total = 0;
    for (const Tensor& tensor : tensors)
        total += tensor.bytes.size();
    std::vector<SafetensorsWriter> parts(count);
    std::size_t done = 0;
    for (Tensor& tensor : tensors) {
        const std::size_t part = done * count / total;
        done += tensor.bytes.size();
        parts[part].m_tensors.push_back(std::move(tensor));
    }
    std::erase_if(parts, [](const SafetensorsWriter& part) { return part.m_tensors.empty(); });
    return parts;
}

std::vector<std::string> SafetensorsWriter::names() const
{
    std::vector<std::string> names;
    for (const Tensor& tensor : m_tensors)
        names.push_back(tensor.name);
    return names;
}

std::vector<std::byte> SafetensorsWriter::bytes() const
{
    nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
    std::size_t offset = 0;
    for (const Tensor& tensor : m_tensors) {
        header[tensor.name] = {
            {"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes.size()}}};
        offset += tensor.bytes.size();
    }
    std::vector<std::byte> file = safetensorsFile(header.dump(), 0);
    for (const Tensor& tensor : m_tensors)
        file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
    return file;
}

void SafetensorsWriter::write(const std::filesystem::path& file) const
{
    writeBytes(file, bytes());
}

std::vector<std::byte> safetensorsFile(const std::string& headerJson, std::size_t dataBytes)
{
    const std::uint64_t length = headerJson.size();
    std::vector<std::byte> file = copyOf(&length, sizeof(length));
    const std::vector<std::byte> header = copyOf(headerJson.data(), headerJson.size());
    file.insert(file.end(), header.begin(), header.end());
    file.resize(file.size() + dataBytes);
    return file;
}

void writeBytes(const std::filesystem::path& file, std::span<const std::byte> bytes)
{
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> readBytes(const std::filesystem::path& file)
{
    std::ifstream stream(file, std::ios::binary);
    std::error_code isMissing;
    const auto size = std::filesystem::file_size(file, isMissing);
    std::vector<std::byte> bytes(isMissing ? 0 : size);
    stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

} // namespace waste::test
