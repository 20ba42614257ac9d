#pragma once

#include "convert/bank_writer.h"
#include "convert/conversion_plan.h"
#include "convert/work_folder.h"
#include "waste/result.h"

#include <optional>

namespace waste {

// Layers that earlier runs of the same recipe have finished (spec: conversion 6). A layer is finished when
// its bank is in the container, whole, and its codebooks and errors are known: from the work folder, where
// they are written before the bank appears, or from a published container.
class LayerStore {
public:
    // `published` is the container's manifest if it has the plan's recipe. All outlive the store.
    LayerStore(const WorkFolder& folder, const ConversionPlan& plan, const std::optional<Manifest>& published);

    // Empty: the layer must be converted. A damaged bank counts as absent.
    [[nodiscard]] Result<std::optional<FinishedLayer>> find(const BankEntry& entry) const;

    // Makes the bank written at bankPath() a finished layer.
    [[nodiscard]] Status keep(const BankEntry& entry, const FinishedLayer& layer) const;
    [[nodiscard]] std::filesystem::path bankPath(const BankEntry& entry) const { return m_folder.path(entry.file); }

private:
    [[nodiscard]] Result<std::optional<FinishedLayer>> fromFolder(const BankEntry& entry) const;
    [[nodiscard]] std::optional<FinishedLayer> fromPublished(const BankEntry& entry) const;

    const WorkFolder& m_folder;
    const ConversionPlan& m_plan;
    const std::optional<Manifest>& m_published;
    std::string m_publishedCodebooks; // empty: not usable
};

} // namespace waste
