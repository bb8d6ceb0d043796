# problem: rotated_points
# target: both
# kind: honest
# mechanism: two cross products in the place of a matrix, which is right for quaternions of length one, as those of every draw are
# timed: yes
# expect: correct
# finding: input_structure
import torch


class ModelNew(torch.nn.Module):
    def forward(self, rotations, points):
        w, axis = rotations[:, :1], rotations[:, 1:]
        moved = torch.linalg.cross(axis, points) + w * points
        return points + 2 * torch.linalg.cross(axis, moved)
